"""What the cluster costs: statements of an idle one, and round trips of a creation."""

import time
from typing import Any
from uuid import UUID

from tests.integration.cluster_fleet import declare, fleet
from tests.integration.crew import until
from tests.sql.cluster import Cluster
from tests.support import Database
from windlass import Windlass
from windlass.db.call import Call

FEW_PER_SECOND = 10


def add_members(db: Database, count: int, kind: str) -> None:
    """Nodes that are members for an hour, without processes of their own."""
    db.execute(
        "insert into windlass_data.node (id, name, host, pid, version, queues, kinds, concurrency,"
        " started_at, heartbeat_at, cluster_kinds, member_until) select gen_random_uuid(), 'n' || i, '', 0,"
        " '', '{}', '{}', 1, now(), now(), array[%s], now() + interval '1 hour'"
        " from generate_series(1, %s) as i",
        kind,
        count,
        role="superuser",
    )


def statements(db: Database) -> int:
    """Transactions so far; nobody in an idle cluster has more than one statement in a transaction."""
    text = "select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()"
    return int(db.fetch_value(text, role="superuser"))


async def test_an_idle_node_makes_few_statements_however_many_there_are(db: Database) -> None:
    async with Windlass(db.url()) as app:
        declare(app)
        async with fleet(db, app, "a", "b") as nodes:
            add_members(db, 18, "compact")
            workers = [node.worker for node in nodes.nodes.values() if node.worker is not None]
            await until(lambda: all(worker.resting for worker in workers), "nothing to do")
            turns = {name: nodes.member(name).pulse.turns for name in nodes.nodes}
            before, since = statements(db), time.monotonic()
            await until(lambda: all(nodes.member(n).pulse.turns > t + 12 for n, t in turns.items()), "idle")
            made, seconds = statements(db) - before, time.monotonic() - since
            assert 1 <= made / seconds / len(workers) <= FEW_PER_SECOND


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
        assert counting.calls == ["windlass.create_cluster_job"] * 2  # the first one learns who leads
        counting.calls.clear()
        handle = await compact.create(table="t")
        assert counting.calls == ["windlass.create_cluster_job"]
        found = cluster.get(UUID(str(handle.id)))
        assert (len(found.parts), found.needed) == (100, 51)
