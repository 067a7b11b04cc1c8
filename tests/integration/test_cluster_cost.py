"""What the cluster costs: statements of an idle one, and round trips of a creation."""

import re
from collections import Counter
from typing import Any
from uuid import UUID

import pytest

from tests.integration.cluster_fleet import declare, fleet
from tests.integration.crew import until
from tests.sql.cluster import Cluster
from tests.support import Database
from windlass import Windlass
from windlass.cluster import Reaper
from windlass.db.call import Call
from windlass.db.link import AsyncLink, SyncLink


def add_members(db: Database, count: int, kind: str) -> None:
    """Nodes that are members for an hour, without processes of their own."""
    db.execute(
        "insert into windlass_data.node (id, name, host, pid, version, queues, kinds, concurrency,"
        " started_at, heartbeat_at, local_kinds, member_until) select gen_random_uuid(), 'n' || i, '', 0,"
        " '', '{}', '{}', 1, now(), now(), array[%s], now() + interval '1 hour'"
        " from generate_series(1, %s) as i",
        kind,
        count,
        role="superuser",
    )


def count_statements(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What the nodes of this process ask for from now on, by function."""
    asked: Counter[str] = Counter()

    def note(call: Call[Any]) -> None:
        found = re.search(r"windlass\.(\w+)\(", call.text)
        asked[found[1] if found else call.text] += 1

    run, run_async = SyncLink.run, AsyncLink.run

    def counted(self: SyncLink, call: Call[Any]) -> Any:
        note(call)
        return run(self, call)

    async def counted_async(self: AsyncLink, call: Call[Any], **more: Any) -> Any:
        note(call)
        return await run_async(self, call, **more)

    monkeypatch.setattr(SyncLink, "run", counted)
    monkeypatch.setattr(AsyncLink, "run", counted_async)
    return asked


async def test_an_idle_node_asks_for_little_but_jobs(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many nodes there are.  The poll for jobs is the one that has to be often."""
    async with Windlass(db.url()) as app:
        declare(app)
        async with fleet(db, app) as nodes:
            for name in ("a", "b"):
                await nodes.start(name, cluster_lease_seconds=10.0)
            add_members(db, 18, "compact")
            workers = [node.worker for node in nodes.nodes.values() if node.worker is not None]
            await until(lambda: all(worker.resting for worker in workers), "nothing to do")
            asked = count_statements(monkeypatch)
            await until(lambda: asked["claim_jobs"] >= 16, "eight polls of each")
            assert asked.total() - asked["claim_jobs"] <= 8, asked


async def test_where_another_node_leads_reaper_and_retention_rest(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every fifth interval they work there too: nothing that must be done depends on an election."""
    async with Windlass(db.url()) as app:
        declare(app)
        async with fleet(db, app, "leader", "follower") as nodes:
            asked = count_statements(monkeypatch)
            for name, times in (("follower", 1), ("leader", 5)):
                asked.clear()
                for service in nodes.nodes[name].services:
                    if service.name in ("maintenance", "pruning"):
                        for _ in range(5):
                            await service.ticked()
                assert (asked["maintain"], asked["prune_jobs"]) == (times, times)


async def test_a_reaper_that_is_spared_works_at_every_fifth_interval() -> None:
    asked = 0

    class Runner:
        async def run(self, call: Call[Any]) -> Any:
            nonlocal asked
            asked += 1
            return 0

    others = False
    reaper = Reaper(Runner(), interval=3600, spared=lambda: others)
    await reaper.start()
    try:
        for is_spared, times in ((False, 5), (True, 1), (False, 5)):
            asked, others = 0, is_spared
            for _ in range(5):
                await reaper.ticked()
            assert asked == times
    finally:
        await reaper.stop()


class Counting:
    """A carrier that counts what it carries."""

    def __init__(self, carrier: Any) -> None:
        self._carrier = carrier
        self.calls: list[str] = []

    async def run(self, call: Call[Any]) -> Any:
        self.calls.append(call.text.partition(" from ")[2].partition("(")[0])
        return await self._carrier.run(call)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._carrier, name)


async def test_a_job_with_a_hundred_parts_is_one_round_trip(db: Database) -> None:
    async with Windlass(db.url()) as app:
        compact = declare(app)
        cluster = Cluster(db, "a")
        add_members(db, 99, "compact")
        counting = Counting(app.client._carrier)
        app.client._carrier = counting  # type: ignore[assignment]
        await compact.create(table="t")
        assert counting.calls[-2:] == ["windlass.create_cluster_job"] * 2  # the first one learns who leads
        counting.calls.clear()
        handle = await compact.create(table="t")
        assert counting.calls == ["windlass.create_cluster_job"]
        found = cluster.get(UUID(str(handle.id)))
        assert (len(found.parts), found.needed) == (100, 51)
