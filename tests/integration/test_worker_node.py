"""A node: everything that one process does, started in order and stopped in reverse."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.integration.crew import TENANT, Crew, until
from tests.support import Database
from windlass import Windlass
from windlass.cluster import LaneKeeper, Maintainer, Pruner, Reaper
from windlass.cluster import reaper as reaper_module
from windlass.db.link import AsyncLink
from windlass.errors import SchemaMismatch
from windlass.node import Node
from windlass.settings import Settings
from windlass.worker.registry import JobDefinition, Registry


@pytest.fixture
def crew(db: Database) -> Crew:
    crew = Crew(db)

    async def fine() -> str:
        return "ok"

    crew.knows(fine)
    return crew


def settings(crew: Crew, **more: object) -> Settings:
    return Settings.from_env({}, database_url=crew.db.url(), node_name="n-1", grace_seconds=5.0, **more)


@pytest.mark.parametrize("tends", [True, False])
async def test_a_worker_by_itself_recovers_what_a_dead_one_held_whatever_else_waits(
    crew: Crew, tends: bool
) -> None:
    app = Windlass(settings=settings(crew))

    @app.job
    async def slow() -> None:
        await asyncio.sleep(0.02)

    lost = crew.enqueue("slow")
    claim = "select job_id from windlass.claim_jobs(%s, array['default'], p_lease_seconds => 0.1)"
    assert crew.db.fetch_value(claim, uuid4()) == lost
    crew.enqueue_many([{"kind": "slow"}] * 2000)
    async with app, app.worker(concurrency=1, tends=tends, grace_seconds=0):
        if tends:
            await until(lambda: crew.state(lost) != "running", "its lease has run out")
        else:
            await until(lambda: crew.job(lost).lease_expires_at < crew.db.clock.now(), "the lease ends")
            assert crew.state(lost) == "running", "nobody looks while there is other work"
        assert crew.db.fetch_value("select ready from windlass.list_queues()") > 100, "in the midst of work"


async def test_a_worker_by_itself_does_not_start_on_the_schema_of_another_release(crew: Crew) -> None:
    app = Windlass(settings=settings(crew))
    change = "update windlass_data.schema_version set sha256 = %s where name = 'code'"
    crew.db.execute(change, "0" * 64, role="superuser")
    with pytest.raises(SchemaMismatch, match="not those of this release"):
        await app.worker().__aenter__()
    later = Windlass(
        settings=settings(crew).model_copy(update={"database_url": "postgresql://nobody@127.0.0.1:1/x"})
    )
    async with later.worker(grace_seconds=0) as worker:
        assert not worker.running, "a database that is not there is waited for"


@pytest.mark.direct(reason="counts sessions by their names")
async def test_a_node_works_until_it_is_asked_to_stop(crew: Crew) -> None:
    node = Node(settings(crew), crew.registry)
    job_id = crew.enqueue("fine")
    ready = asyncio.Event()
    task = asyncio.create_task(node.run(lambda _: ready.set()))
    await ready.wait()
    names = ["reaper", "lanes", "sealing", "maintenance", "bookkeeping", "pruning"]
    assert [service.name for service in node.services] == names
    for service in node.services:
        await service.ticked()
    await until(lambda: crew.state(job_id) == "succeeded", "it works")
    node.request_stop()
    await task
    left = (
        "select application_name from pg_stat_activity "
        "where datname = current_database() and application_name like 'windlass%%'"
    )
    # All are closed; the server takes a moment to see it.
    await until(lambda: not crew.db.fetch(left, role="superuser"), "no session is left")
    text = "select stopped_at is not null from windlass_data.node"
    assert crew.db.fetch_value(text, role="superuser")


async def test_a_node_refuses_a_database_without_windlass(empty_db: Database) -> None:
    node = Node(Settings.from_env({}, database_url=empty_db.url()), Registry())
    with pytest.raises(SchemaMismatch, match="windlass migrate"):
        await node.run()


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A directory that the server's account can enter, also when we are root."""
    path = Path(tempfile.mkdtemp(prefix="windlass-test-"))
    path.chmod(0o711)
    yield path
    shutil.rmtree(path)


async def test_a_node_brings_its_own_server(open_dir: Path) -> None:
    """From nothing to a job that is done; when the node has stopped, its server has too."""

    async def fine(n: int) -> int:
        return n + 1

    registry = Registry()
    registry.add(JobDefinition.from_function(fine))
    told = Settings.from_env({}, data_dir=open_dir / "data", node_name="n-1")
    node = Node(told, registry, start_server=True, migrates=True)
    ready = asyncio.Event()
    task = asyncio.create_task(node.run(lambda _: ready.set()))
    await until(lambda: ready.is_set() or task.done(), "the node is ready")
    assert ready.is_set(), task.result()
    assert node.services[-1].name == "embedded server"
    async with await psycopg.AsyncConnection.connect(node.url, autocommit=True) as connection:
        await connection.execute("select windlass.enqueue_job(%s, 'fine', '{\"n\": 1}')", [TENANT])
    assert node.worker is not None
    await node.worker.idle()
    assert node.worker.counts.succeeded == 1
    node.request_stop()
    await task
    with pytest.raises(psycopg.OperationalError):
        await psycopg.AsyncConnection.connect(node.url)


async def test_the_reaper_recovers_expired_leases_batch_after_batch(crew: Crew) -> None:
    ids = crew.enqueue_many([{"kind": "fine", "payload": {}, "priority": n} for n in range(5)])
    claim = "select * from windlass.claim_jobs(%s, array['default'], null, 5, 30)"
    assert len(crew.db.fetch(claim, uuid4())) == 5
    link = AsyncLink(crew.db.url(), application_name="windlass node test")
    reaper = Reaper(link, interval=3600, batch=2)
    await reaper.start()
    try:
        await reaper.ticked()
        assert reaper.recovered == 0, "leases that are held are left alone"
        crew.db.clock.advance(31)
        await reaper.ticked()
        assert reaper.recovered == 5
        assert {crew.state(job_id) for job_id in ids} == {"queued"}
        assert crew.outcomes(ids[0]) == ["crashed"]
        assert crew.end_sessions("node test") == 1
        await reaper.ticked()  # goes on after its session was ended
    finally:
        await reaper.stop()
        await link.close()


async def test_every_now_and_then_the_reaper_looks_at_all(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What nobody looked for in time, because no node was there, is found as well."""
    monkeypatch.setattr(reaper_module, "_ALL_ROUNDS", 3)
    ids = [crew.enqueue("fine") for _ in range(2)]
    claim = "select * from windlass.claim_jobs(%s, array['default'], null, 1)"
    link = AsyncLink(crew.db.url(), application_name="windlass node test")
    reaper = Reaper(link, interval=3600)
    crew.db.fetch(claim, uuid4())
    crew.db.clock.advance(3600)
    await reaper.start()
    try:
        await reaper.ticked()
        assert reaper.recovered == 1, "the first round looks at all"
        crew.db.fetch(claim, uuid4())
        crew.db.clock.advance(3600)
        await reaper.ticked()
        await reaper.ticked()
        await reaper.ticked()
        assert reaper.recovered == 2
    finally:
        await reaper.stop()
        await link.close()
    assert {crew.state(job_id) for job_id in ids} == {"queued"}


async def test_lanes_without_work_are_taken_off_the_list(crew: Crew) -> None:
    crew.enqueue("fine")
    async with crew.worker() as worker:
        await worker.idle()
    link = AsyncLink(crew.db.url(), application_name="windlass node test")
    keeper = LaneKeeper(link, interval=3600)
    await keeper.start()
    try:
        await keeper.ticked()
        assert keeper.retired == 1
        crew.enqueue("fine")
        await keeper.ticked()
        assert keeper.retired == 1
    finally:
        await keeper.stop()
        await link.close()


async def test_maintenance_makes_the_days_ahead_and_pruning_ends_the_past(crew: Crew) -> None:
    job_id = crew.enqueue("fine")
    async with crew.worker() as worker:
        await worker.idle()
    link = AsyncLink(crew.db.url(), application_name="windlass node test")
    keep = {"succeeded": 1.0, "canceled": 1.0, "skipped": 1.0, "dead": 30.0}
    maintainer, pruner = Maintainer(link, interval=3600), Pruner(link, keep, interval=3600)
    services = (maintainer, pruner)
    try:
        for service in services:
            await service.start()
            await service.ticked()
        assert crew.state(job_id) == "succeeded"
        crew.db.clock.advance(timedelta(days=3))
        for service in services:
            await service.ticked()
        day = crew.db.clock.now() + timedelta(days=3)
        table = f"windlass_data.job_{day:%Y%m%d}"
        assert crew.db.fetch_value("select to_regclass(%s) is not null", table, role="superuser")
        with pytest.raises(psycopg.Error, match="there is no job"):
            crew.job(job_id)
    finally:
        for service in services:
            await service.stop()
        await link.close()
