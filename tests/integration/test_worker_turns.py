"""How long a tenant waits for others, through a worker: the bound that docs/fairness.md states."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from tests.integration.crew import until
from tests.sql.steps import Session
from tests.support import Database
from windlass.worker.registry import JobDefinition, Registry
from windlass.worker.turns import QUANTUM
from windlass.worker.worker import Worker

START = 50
"""Jobs after which a worker has surveyed the lanes, and knows who has work."""


async def order_of(db: Database, backlogs: dict[str, int], concurrency: int, count: int) -> list[str]:
    """Whose jobs one worker starts, one after the other."""
    order: list[str] = []

    async def note(tenant: str) -> None:
        order.append(tenant)

    registry = Registry()
    registry.add(JobDefinition.from_function(note, kind="note"))
    session = Session(db.connect())
    for name, backlog in backlogs.items():
        session.tenant = db.fetch_value("select windlass.create_tenant(%s)", name, role="app")
        session.enqueue_many([{"kind": "note", "payload": {"tenant": name}}] * backlog)
    async with Worker(db.url(), registry, concurrency=concurrency, poll_seconds=0.2):
        await until(lambda: len(order) >= count, "enough has run")
    return order[:count]


def waits_of(order: Sequence[str], who: str) -> Iterator[int]:
    """Between each two of somebody's jobs, the most that one other tenant was given."""
    places = [place for place, name in enumerate(order) if name == who]
    for first, second in pairwise(places):
        between = Counter(order[first + 1 : second])
        yield max(between.values(), default=0)


@pytest.mark.parametrize("concurrency", [1, 10])
async def test_between_two_jobs_of_one_of_few_tenants_each_other_gets_one(
    db: Database, concurrency: int
) -> None:
    """Whoever runs dry is left out of the rounds; when that happens, once, a round may not be whole."""
    backlogs = {"a": 600, "b": 600, "c": 60, "d": 600, "e": 600}
    order = await order_of(db, backlogs, concurrency, 4 * 450)
    assert order.count("c") == 60
    for name in ("a", "b", "d", "e"):
        waits = list(waits_of(order[START:], name))
        assert max(waits) <= 2
        assert waits.count(2) <= 1, "that one round"


@pytest.mark.parametrize("concurrency", [1, 10])
async def test_of_many_tenants_each_other_gets_one_turn_of_up_to_fifty_jobs(
    db: Database, concurrency: int
) -> None:
    names = [f"t{n}" for n in range(12)]
    order = await order_of(db, dict.fromkeys(names, 600), concurrency, 12 * 400)
    for name in names:
        assert max(waits_of(order[START:], name)) <= QUANTUM
