"""A worker that looks from its marks on: nothing is skipped for good, and fairness holds between tenants."""

import asyncio
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from tests.integration.crew import until
from tests.sql.steps import Session
from tests.support import Database
from windlass.worker import turns
from windlass.worker.registry import JobDefinition, Registry
from windlass.worker.worker import Worker


@pytest.fixture(autouse=True)
def small_strides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "STRIDE", 2)


@pytest.fixture
def ran() -> list[int]:
    return []


@pytest.fixture
def registry(ran: list[int]) -> Registry:
    async def note(n: int) -> None:
        ran.append(n)

    found = Registry()
    found.add(JobDefinition.from_function(note, kind="note"))
    return found


@pytest.fixture
def numbers() -> Iterator[int]:
    return itertools.count()


def _ran_all(expected: list[int], ran: list[int]) -> bool:
    return set(expected) <= set(ran)


def enqueue(session: Session, numbers: Iterator[int], count: int = 1) -> list[int]:
    batch = [next(numbers) for _ in range(count)]
    session.enqueue_many([{"kind": "note", "payload": {"n": n}} for n in batch])
    return batch


def fail_over(db: Database) -> None:
    """What a standby that lagged has: job 29 is in line, at the place where it was, and was never claimed."""
    of_29 = "payload ->> 'n' = '29'"
    line_up = "insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)"
    ours = "application_name like 'windlass claim%%' and datname = current_database()"
    for statement in (
        f"delete from windlass_data.attempt where job_id = (select id from windlass_data.job where {of_29})",
        f"{line_up} select lane_id, seq, tenant_id, id, 0, 0 from windlass_data.job where {of_29}",
        f"select pg_terminate_backend(pid) from pg_stat_activity where {ours}",
    ):
        db.execute(statement, role="superuser")


@pytest.mark.parametrize("first", ["claims", "begins"])
async def test_marks_are_dropped_whoever_meets_the_broken_connection(
    db: Database, registry: Registry, ran: list[int], numbers: Iterator[int], first: str
) -> None:
    """After a failover jobs may stand where a worker knows that there is nothing."""
    steady = Session(db.connect())
    enqueue(steady, numbers, 30)

    async with Worker(db.url(), registry, concurrency=5, poll_seconds=0.1) as worker:
        claims, begins = worker._flow.claims, worker._flow.begins

        def floor_is_behind_all() -> bool:
            claims.wake()
            lanes = claims._turns._lanes.values()
            return bool(lanes) and not claims._turns.in_doubt and all(lane.floor >= 29 for lane in lanes)

        await until(lambda: len(ran) == 30, "all ran")
        await until(floor_is_behind_all, "the floor is behind the last of them")
        tell = begins._tell
        met: list[bool] = []

        async def break_first(waiting: list[Any], called: list[Any]) -> None:
            if not met:
                met.append(True)
                fail_over(db)
            await tell(waiting, called)

        if first == "begins":
            begins._tell = break_first  # type: ignore[method-assign]
        else:
            fail_over(db)
        steady.enqueue("note", {"n": next(numbers)}, max_attempts=1)
        await until(lambda: 30 in ran, "the next one ran")
        await until(lambda: ran.count(29) == 2, "and the one that was in line again")


async def test_jobs_committed_long_after_later_ones_ran_are_run_too(
    db: Database, registry: Registry, ran: list[int], numbers: Iterator[int]
) -> None:
    """Three producers hold their enqueues open, each for a different time, while others come and go."""
    steady = Session(db.connect())
    enqueue(steady, numbers)
    async with Worker(db.url(), registry, concurrency=20) as worker:
        await worker.idle()
        held = [Session(db.connect(autocommit=False)) for _ in range(3)]
        late = [enqueue(session, numbers, 3) for session in held]
        for session, expected in zip(held, late, strict=True):
            for _ in range(5):
                enqueue(steady, numbers, 10)
                await worker.idle()
            assert not set(expected) & set(ran)
            session.conn.commit()
            await until(partial(_ran_all, expected, ran), "the late jobs ran")
        await worker.idle()
    assert sorted(ran) == list(range(next(numbers)))


async def test_a_writer_that_never_ends_hides_nothing_of_others(
    db: Database, registry: Registry, ran: list[int], numbers: Iterator[int]
) -> None:
    """The horizon stands still while it lives; what others commit late is found all the same."""
    steady, late = Session(db.connect()), Session(db.connect(autocommit=False))
    enqueue(steady, numbers)
    idler = db.connect("superuser", autocommit=False)
    idler.execute("select pg_current_xact_id()")
    async with Worker(db.url(), registry, concurrency=20) as worker:
        await worker.idle()
        expected = enqueue(late, numbers, 2)
        for _ in range(5):
            enqueue(steady, numbers, 10)
            await worker.idle()
        late.conn.commit()
        await until(lambda: set(expected) <= set(ran), "the late jobs ran")
    idler.rollback()


async def test_a_claim_that_was_undone_is_seen_again(
    db: Database, registry: Registry, ran: list[int], numbers: Iterator[int]
) -> None:
    steady, other = Session(db.connect()), Session(db.connect(autocommit=False), node=UUID(int=5))
    first = enqueue(steady, numbers, 4)
    assert len(other.claim(4)) == 4
    async with Worker(db.url(), registry, concurrency=20) as worker:
        enqueue(steady, numbers, 30)
        await worker.idle()
        assert not set(first) & set(ran)
        other.conn.rollback()
        await until(lambda: set(first) <= set(ran), "what the other claim gave back ran")


async def test_a_worker_with_one_slot_gives_every_tenant_its_turn(db: Database) -> None:
    order: list[str] = []
    registry = Registry()

    async def note(tenant: str) -> None:
        order.append(tenant)
        await asyncio.sleep(0.002)

    registry.add(JobDefinition.from_function(note, kind="note"))
    names = [f"t{n}" for n in range(6)]
    tenants: dict[str, Any] = {
        name: db.fetch_value("select windlass.create_tenant(%s)", name, role="app") for name in names
    }
    session = Session(db.connect())
    for name in names:
        session.tenant = tenants[name]
        count = {"t0": 400, "t5": 90}.get(name, 30)
        session.enqueue_many([{"kind": "note", "payload": {"tenant": name}}] * count)
    db.execute("select windlass.set_tenant(%s, 3)", tenants["t5"], role="app")
    async with Worker(db.url(), registry, concurrency=1, poll_seconds=0.2):
        await until(lambda: len(order) >= 112, "some rounds are over")
    # Claims before the first survey know no turns, and the weight is learned with it.
    steady = order[32:112]
    for start in range(0, 80, 8):
        counts = {name: steady[start : start + 8].count(name) for name in names}
        assert counts == {"t0": 1, "t1": 1, "t2": 1, "t3": 1, "t4": 1, "t5": 3}
