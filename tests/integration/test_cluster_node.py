"""Cluster jobs through the application, the client and real nodes: what is declared is what happens."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from tests.integration.cluster_fleet import declare, fleet
from tests.support import Database
from windlass import LeaderContext, NotLeader, Skip, Windlass
from windlass.app import LeaderFunction
from windlass.errors import InvalidInput, JobFailed, NotFound
from windlass.model import RetryPolicy


class Table(BaseModel):
    name: str


@pytest.fixture
async def app(db: Database) -> AsyncIterator[Windlass]:
    async with Windlass(db.url()) as app:
        yield app


async def test_parts_run_on_every_node_and_then_the_leader_acts(db: Database, app: Windlass) -> None:
    compact = declare(app, quorum="all")
    async with fleet(db, app, "a", "b", "c"):
        handle = await compact.create(table="t")
        result = await handle.wait(timeout=30)
        assert result == {
            "term": 1,
            "table": "t",
            "results": {"a": "a:t", "b": "b:t", "c": "c:t"},
            "warning": None,
        }


async def test_one_node_is_its_own_leader(db: Database, app: Windlass) -> None:
    compact = declare(app)
    async with fleet(db, app, "only") as nodes:
        handle = await compact.create(table="t")
        assert (await handle.wait(timeout=30))["results"] == {"only": "only:t"}
        found = await nodes.get(handle.id)
        assert (found.needed, found.done, found.verdict, found.action_term) == (1, 1, "quorum", 1)


async def test_a_kind_without_an_action_tells_how_many_parts_are_done(db: Database, app: Windlass) -> None:
    @app.cluster_job(quorum="all")
    def reload(table: Table) -> str:
        return table.name

    async with fleet(db, app, "a", "b"):
        handle = await reload.create(Table(name="t"))
        assert await handle.wait(timeout=30) == {"done": 2, "parts": 2}
    assert reload(Table(name="plain")) == "plain"


async def test_only_the_leader_runs_a_leader_job(db: Database, app: Windlass) -> None:
    @app.leader_job(timeout=10)
    def elect(ctx: LeaderContext, n: int) -> list[Any]:
        return [n, ctx.attempt.worker_id, ctx.term, list(ctx.parts)]

    assert isinstance(elect, LeaderFunction)
    async with fleet(db, app, "a", "b"):
        for n in range(3):
            handle = await elect.create(n)
            assert await handle.wait(timeout=30) == [n, "a", 1, []]


async def test_decisions_of_a_part(db: Database, app: Windlass) -> None:
    @app.cluster_job()
    async def nothing_to_do() -> Skip:
        return Skip("clean already")

    async with fleet(db, app, "a") as nodes:
        handle = await nothing_to_do.create()
        await handle.wait(timeout=30)
        (part,) = (await nodes.get(handle.id)).parts
        assert (part.state, part.result) == ("skipped", {"reason": "clean already"})


async def test_a_leader_may_skip_the_job(db: Database, app: Windlass) -> None:
    @app.leader_job()
    async def nothing_new(ctx: LeaderContext) -> Skip:
        return Skip(f"known in term {ctx.term}")

    async with fleet(db, app, "a"):
        handle = await nothing_new.create()
        with pytest.raises(JobFailed, match="skipped"):
            await handle.wait(timeout=30)
        assert (await handle.get()).result == {"reason": "known in term 1"}


async def test_a_failed_part_is_kept_with_its_error(db: Database, app: Windlass) -> None:
    compact = declare(app, retry=RetryPolicy(base_seconds=0.0, max_attempts=2), quorum="all")
    async with fleet(db, app, "a", "b", "c") as nodes:
        handle = await compact.create(table="t", fails_on="c")
        assert "c" not in (await handle.wait(timeout=30))["results"]
        parts = {part.node_name: part for part in (await nodes.get(handle.id)).parts}
        assert (parts["c"].state, parts["c"].attempts) == ("failed", 2)
        assert parts["c"].error is not None
        assert parts["c"].error["message"] == "no room on c"


@pytest.mark.parametrize(("policy", "ends"), [("proceed", "succeeded"), ("fail", "dead")])
async def test_a_quorum_that_cannot_come_about(db: Database, app: Windlass, policy: Any, ends: str) -> None:
    compact = declare(app, max_attempts=1, on_timeout=policy, quorum="all")
    async with fleet(db, app, "a", "b") as nodes:
        handle = await compact.create(table="t", fails_on="b")
        if ends == "dead":
            with pytest.raises(JobFailed, match="only 1 of 2 parts"):
                await handle.wait(timeout=30)
        else:
            result = await handle.wait(timeout=30)
            assert result["warning"] == "only 1 of 2 parts can still be done, and 2 are needed"
            assert "b" not in result["results"]  # that of the other may still run: nobody waits for it
        assert (await nodes.get(handle.id)).verdict == "impossible"


async def test_in_a_callers_transaction(db: Database, app: Windlass) -> None:
    compact = declare(app)
    async with fleet(db, app, "a"):
        connection = await db.connect_async(autocommit=False)
        async with connection:
            lost = await compact.options(connection=connection).create(table="t")
            await connection.rollback()
            kept = await compact.options(connection=connection).create(table="u")
        assert (await kept.wait(timeout=30))["table"] == "u"
        with pytest.raises(NotFound):
            await app.client.get_cluster_job(lost.id)
    connection = await db.connect_async(autocommit=False)
    async with connection:
        with pytest.raises(NotLeader) as refusal:
            await compact.options(connection=connection).create(table="t")
        assert refusal.value.leader is None
        await connection.rollback()


async def test_a_node_has_the_address_that_was_said_and_no_other(db: Database, app: Windlass) -> None:
    declare(app)
    async with fleet(db, app, "a") as nodes:
        await nodes.start("b", address="10.0.0.7:80")
        found = {node.name: node.address for node in await app.client.list_nodes()}
        assert found == {"a": None, "b": "10.0.0.7:80"}
        leader, standing = await app.client.get_leader(), nodes.member("b").standing
        assert leader is not None
        assert standing is not None
        assert (leader.name, leader.address, standing.leader_address) == ("a", None, None)


async def test_the_same_key_is_the_same_job_while_it_is_active(db: Database, app: Windlass) -> None:
    compact = declare(app)
    async with fleet(db, app, "a"):
        first = await compact.options(key="nightly").create(table="t")
        await first.wait(timeout=30)
        second = await compact.options(key="nightly").create(table="t")
        assert second.created
        assert second.id != first.id


async def test_a_canceled_job_stops_the_parts_that_run(db: Database, app: Windlass) -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    @app.cluster_job(on_timeout="wait")
    async def endless() -> None:
        begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            stopped.set()

    async with fleet(db, app, "a") as nodes:
        handle = await endless.create()
        await begun.wait()
        await handle.cancel()
        await asyncio.wait_for(stopped.wait(), 30)
        (part,) = (await nodes.get(handle.id)).parts
        assert part.state == "canceled"


async def test_the_scope_of_options(app: Windlass) -> None:
    compact = declare(app)
    new = compact.new(table="t")
    assert (new.quorum_timeout_ms, new.on_timeout, new.quorum, new.on_crash) == (
        10_000,
        "proceed",
        "majority",
        "requeue",
    )
    slower = app.cluster_job(kind="slower", quorum_timeout=60, on_timeout="wait", on_crash="fail")(lambda: 1)
    new = slower.new()
    assert (new.quorum_timeout_ms, new.on_timeout, new.on_crash) == (60_000, "wait", "fail")
    new = compact.options(quorum_timeout=3.0, on_timeout="fail", quorum="all").new(table="t")
    assert (new.quorum_timeout_ms, new.on_timeout, new.quorum, new.job.scope) == (
        3000,
        "fail",
        "all",
        "active",
    )
    for wrong in ({"quorum": "some"}, {"quorum_timeout": 0}, {"on_timeout": "hope"}, {"what": 1}):
        with pytest.raises(InvalidInput):
            compact.options(**wrong).new(table="t")
    with pytest.raises(InvalidInput):
        compact.new(table=7)
    with pytest.raises(InvalidInput, match="already"):
        declare(app)
