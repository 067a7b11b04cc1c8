"""Nodes of a cluster start, lead, stop, drain and come back; the client finds whoever leads."""

import asyncio
import time
from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from tests.integration.cluster_fleet import declare, fleet
from tests.integration.crew import TENANT, until
from tests.sql.operate import bind
from tests.support import Database
from windlass import LeaderContext, NotLeader, Windlass
from windlass.db.rpc_cluster import Begun
from windlass.node import Node
from windlass.settings import Settings


@pytest.fixture
async def app(db: Database) -> AsyncIterator[Windlass]:
    async with Windlass(db.url()) as app:
        yield app


async def test_the_client_follows_the_leader(db: Database, app: Windlass) -> None:
    """Whoever led when it last asked: the client finds the one that leads now by itself."""
    compact = declare(app)
    async with fleet(db, app, "a", "b") as nodes:
        await (await compact.create(table="t")).wait(timeout=30)
        await nodes.stop("a")
        await nodes.member("b").turned(lambda standing: standing.leads)
        result = await (await compact.create(table="u")).wait(timeout=30)
        assert (result["term"], result["results"]) == (2, {"b": "b:u"})
        sync = await asyncio.to_thread(compact.create_sync, table="v")
        assert (await asyncio.to_thread(sync.wait, timeout=30))["table"] == "v"


async def test_without_a_leader_the_client_waits_for_one(db: Database, app: Windlass) -> None:
    compact = declare(app)
    creating = asyncio.create_task(compact.create(table="t"))
    async with fleet(db, app, "late"):
        handle = await creating
        assert (await handle.wait(timeout=30))["results"] == {"late": "late:t"}


async def test_a_stopped_leader_hands_over_at_once(db: Database, app: Windlass) -> None:
    declare(app)
    async with fleet(db, app) as nodes:
        await nodes.start("a", cluster_lease_seconds=3600.0)
        await nodes.start("b", cluster_lease_seconds=3600.0)
        await nodes.stop("a")
        standing = await nodes.member("b").turned(lambda standing: standing.leads)
        assert standing.term == 2


async def test_a_leader_that_stops_finishes_its_action_first(db: Database, app: Windlass) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @app.leader_job()
    async def slow(ctx: LeaderContext) -> int:
        begun.set()
        await go_on.wait()
        return ctx.term

    async with fleet(db, app, "a", "b") as nodes:
        handle = await slow.create()
        await begun.wait()
        nodes.nodes["a"].request_stop()
        await nodes.member("a").turned(lambda standing: standing.leads)
        go_on.set()
        await nodes.ended("a")
        assert await handle.wait(timeout=30) == 1
        assert len(await handle.attempts()) == 1
        assert (await nodes.member("b").turned(lambda standing: standing.leads)).term == 2


async def test_a_part_is_given_back_when_its_node_stops_and_found_by_its_next_life(
    db: Database, app: Windlass
) -> None:
    begun = asyncio.Event()
    lives = 0

    @app.cluster_job(on_timeout="wait")
    async def stubborn() -> int:
        nonlocal lives
        lives += 1
        begun.set()
        if lives == 1:
            await asyncio.sleep(600)
        return lives

    async with fleet(db, app) as nodes:
        await nodes.start("a", grace_seconds=0.0)
        handle = await stubborn.create()
        await begun.wait()
        await nodes.stop("a")
        (part,) = (await nodes.get(handle.id)).parts
        assert (part.state, part.counted) == ("queued", 0)
        await nodes.start("a")
        await handle.wait(timeout=30)
        (part,) = (await nodes.get(handle.id)).parts
        assert (part.state, part.result, part.attempts) == ("succeeded", 2, 2)


async def test_asked_to_stop_twice_a_node_does_not_wait_for_its_parts(db: Database, app: Windlass) -> None:
    begun = asyncio.Event()

    @app.cluster_job(on_timeout="wait")
    async def endless() -> None:
        begun.set()
        await asyncio.sleep(600)

    async with fleet(db, app) as nodes:
        node = await nodes.start("a", grace_seconds=600.0)
        handle = await endless.create()
        await begun.wait()
        node.request_stop()
        leaders = "select count(*) from windlass.get_leader()"  # stopped, it has no turns any more
        await until(lambda: db.fetch_value(leaders) == 0, "it has handed over")
        node.request_stop()
        await nodes.ended("a")
        (part,) = (await nodes.get(handle.id)).parts
        assert (part.state, part.counted) == ("queued", 0)


async def test_a_node_of_a_role_bound_to_a_tenant_works_but_takes_no_part(db: Database) -> None:
    bind(db, "worker", TENANT)
    async with Windlass(db.url()) as app:

        @app.job
        async def fine() -> str:
            return "ok"

        declare(app)
        node = Node(
            Settings.from_env({}, database_url=db.url("worker"), node_name="bound", grace_seconds=5.0),
            app.registry,
            cluster=app.cluster,
        )
        ready = asyncio.Event()
        run = asyncio.create_task(node.run(lambda _: ready.set()))
        await ready.wait()
        assert await (await fine.enqueue()).wait(timeout=30) == "ok"
        assert node.member is not None
        member = node.member
        await until(lambda: not member.pulse.alive, "it has given up")
        assert await app.client.get_leader() is None
        node.request_stop()
        await run


async def test_a_part_that_blocks_the_event_loop_keeps_its_lease(db: Database, app: Windlass) -> None:
    @app.cluster_job(on_timeout="wait")
    async def block() -> str:
        time.sleep(2.5)  # longer than the lease
        return "kept"

    async with fleet(db, app) as nodes:
        await nodes.start("a", cluster_lease_seconds=1.0)
        handle = await block.create()
        await handle.wait(timeout=30)
        (part,) = (await nodes.get(handle.id)).parts
        assert (part.result, part.attempts) == ("kept", 1)
        assert nodes.member("a").standing is not None


async def test_a_drained_node_leaves_when_it_is_empty(db: Database, app: Windlass) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @app.job
    async def long() -> str:
        begun.set()
        await go_on.wait()
        return "done"

    declare(app)
    async with fleet(db, app, "a", "b") as nodes:
        handle = await long.enqueue()
        await begun.wait()
        busy = next(name for name, node in nodes.nodes.items() if node.worker and node.worker.running)
        await app.client.drain_node(busy)
        standing = await nodes.member(busy).turned(lambda standing: standing.draining)
        assert not standing.leads or busy == "a"
        after = await long.options(priority=5).enqueue()
        go_on.set()
        await nodes.ended(busy)
        assert await handle.wait(timeout=30) == "done"
        assert await after.wait(timeout=30) == "done"
        (attempt,) = await after.attempts()
        worker = nodes.nodes[busy].worker
        assert worker is not None
        assert attempt.node_id != worker.node_id


async def test_a_woken_node_does_not_wait_for_its_poll(db: Database, app: Windlass) -> None:
    compact = declare(app)
    async with fleet(db, app) as nodes:
        await nodes.start("a", poll_seconds=60.0, cluster_lease_seconds=600.0)
        worker = nodes.nodes["a"].worker
        assert worker is not None
        assert worker.listener is not None
        await worker.listener.listening()
        await until(lambda: worker.resting, "nothing to do")
        assert (await (await compact.create(table="t")).wait(timeout=30))["results"] == {"a": "a:t"}


async def test_where_no_notice_is_heard_the_poll_brings_the_parts(db: Database, app: Windlass) -> None:
    compact = declare(app)
    async with fleet(db, app) as nodes:
        await nodes.start("a", pooler="transaction", cluster_lease_seconds=3600.0)
        worker = nodes.nodes["a"].worker
        assert worker is not None
        assert worker.listener is None
        turns = nodes.member("a").pulse.turns
        await until(lambda: nodes.member("a").pulse.turns >= turns + 2, "it has settled")
        assert (await (await compact.create(table="t")).wait(timeout=30))["results"] == {"a": "a:t"}


async def test_an_action_that_finds_another_leader_is_handed_over_and_not_counted(
    db: Database, app: Windlass, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, refusals = app.client.begin_action, [NotLeader("node b leads, in term 2")]

    async def begin_action(token: UUID, job_id: UUID) -> Begun:
        if refusals:
            raise refusals.pop()
        return await real(token, job_id)

    monkeypatch.setattr(app.client, "begin_action", begin_action)

    @app.leader_job(max_attempts=1)
    async def act(ctx: LeaderContext) -> int:
        return ctx.attempt.attempt

    async with fleet(db, app, "a"):
        handle = await act.create()
        assert await handle.wait(timeout=30) == 2
        assert [str(attempt.outcome) for attempt in await handle.attempts()] == ["snoozed", "succeeded"]
