"""A handler that blocks the event loop keeps its own job, and no other."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.crew import PATIENCE, TENANT, Crew, until
from tests.support import Database
from windlass.db.link import AsyncLink, SyncLink
from windlass.telemetry import Signal, Telemetry
from windlass.worker import line
from windlass.worker.context import JobContext
from windlass.worker.pace import Pace

NO_DELAY = {"base": 0, "factor": 1, "cap": None, "jitter": "none"}


@pytest.fixture
def crew(db: Database) -> Crew:
    return Crew(db)


def block_until(holds: Callable[[], Any], what: str) -> None:
    """In an async handler: the loop stands still until the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"not in {PATIENCE:.0f} s, while the loop was blocked: {what}"
        time.sleep(0.01)


@pytest.mark.parametrize("shared", [True, False], ids=["in line", "with tasks of their own"])
async def test_what_has_not_begun_is_given_back_while_the_loop_is_blocked(
    crew: Crew, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    monkeypatch.setattr(line, "SHARES_TASKS", shared)
    monkeypatch.setattr(Pace, "ahead", lambda _: 4)
    heard: list[Signal] = []
    ran: list[int] = []
    others: list[Any] = []

    async def block() -> None:
        held.append(crew.held)
        block_until(lambda: crew.held == 1, "only the job that blocks is held")
        assert {crew.state(job_id) for job_id in others} == {"queued"}

    async def quick(n: int) -> None:
        ran.append(n)

    held: list[int] = []
    crew.knows(block)
    crew.knows(quick)
    # Three go into line or get tasks, of which one waits for the database first; four are claimed ahead.
    jobs = [{"kind": "quick", "payload": {"n": n}, "max_attempts": 1 if n == 2 else 5} for n in range(7)]
    job_id, *others = crew.enqueue_many([{"kind": "block", "payload": {}}, *jobs])
    async with crew.worker(telemetry=Telemetry([heard.append])) as worker:
        await worker.idle()
        assert (worker.counts.released, worker.counts.succeeded, worker.counts.lost) == (7, 8, 0)
    assert held == [8]
    assert sorted(ran) == list(range(7)), "each ran, and none twice"
    assert crew.outcomes(job_id) == ["succeeded"]
    assert [crew.outcomes(other) for other in others] == [["released", "succeeded"]] * 7
    (told,) = [signal for signal in heard if signal.name == "worker.blocked"]
    assert told.fields["kinds"] == ["block"]
    assert "the async handler of block blocks the event loop" in told.fields["message"]
    assert "7 that had not begun were given back" in told.fields["message"]
    assert 'isolation="process"' in told.fields["hint"]


@pytest.mark.parametrize("shared", [True, False], ids=["in line", "with tasks of their own"])
async def test_a_loop_that_wakes_up_while_jobs_are_given_back_begins_none_of_them(
    crew: Crew, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    monkeypatch.setattr(line, "SHARES_TASKS", shared)
    monkeypatch.setattr(Pace, "ahead", lambda _: 4)
    taken, awake = threading.Event(), threading.Event()
    versions: list[int] = []
    run = SyncLink.run

    def run_when_awake(link: SyncLink, call: Any) -> Any:
        if "release_jobs" in call.text:
            taken.set()
            assert awake.wait(PATIENCE)
        return run(link, call)

    async def block() -> None:
        assert taken.wait(PATIENCE)

    async def quick(ctx: JobContext) -> None:
        versions.append(ctx.version)

    monkeypatch.setattr(SyncLink, "run", run_when_awake)
    crew.knows(block)
    crew.knows(quick)
    first, *others = crew.enqueue_many([{"kind": kind, "payload": {}} for kind in ("block", *["quick"] * 7)])
    async with crew.worker() as worker:
        while worker.counts.succeeded < 1:  # the loop is awake, and nothing is given back yet
            await asyncio.sleep(0.01)
        assert (taken.is_set(), versions, worker.running) == (True, [], [])
        awake.set()
        await worker.idle()
        assert (worker.counts.released, worker.counts.lost) == (7, 0)
    assert versions == [2] * 7
    assert crew.outcomes(first) == ["succeeded"]
    assert [crew.outcomes(other) for other in others] == [["released", "succeeded"]] * 7


async def test_a_timeout_ends_attempts_while_the_loop_is_blocked(crew: Crew) -> None:
    heard: list[Signal] = []
    gate = threading.Event()
    told: list[Any] = []

    async def block(ctx: JobContext) -> str:
        if ctx.attempt == 1:
            block_until(lambda: crew.outcomes(jobs["block"]) == ["timed_out"], "its own timeout counts")
            block_until(lambda: crew.outcomes(jobs["slow"]) == ["timed_out"], "and that of a thread")
            block_until(lambda: crew.outcomes(jobs["waits"]) == ["timed_out"], "and of one that waits")
            block_until(lambda: crew.state(jobs["quick"]) == "succeeded", "a thread's success is reported")
            assert crew.state(jobs["block"]) == "queued"
            told.append(ctx.stop_reason)
            gate.set()
            return "too late"
        return "in time"

    def slow() -> None:
        gate.wait(PATIENCE)

    async def waits() -> None:
        begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            told.append("canceled")

    def quick() -> str:
        assert begun.wait(PATIENCE)
        return "quick"

    begun = threading.Event()
    for function, timeout in ((block, 0.5), (slow, 0.5), (waits, 0.5), (quick, 1.8)):
        crew.knows(function, timeout=timeout)
    jobs: dict[str, Any] = {}
    for kind in ("waits", "slow", "quick", "block"):
        last = {} if kind == "block" else {"max_attempts": 2}
        jobs[kind] = crew.enqueue(kind, retry={**NO_DELAY, "base": 3600} if last else NO_DELAY, **last)
    async with crew.worker(telemetry=Telemetry([heard.append]), grace_seconds=0) as worker:
        await until(lambda: told == ["timed_out", "canceled"], "what waits is canceled once the loop is free")
        await worker.idle()
        assert (worker.counts.timed_out, worker.counts.succeeded, worker.counts.lost) == (3, 2, 0)
        assert (worker.stuck, worker.running) == (0, [])
    assert crew.outcomes(jobs["block"]) == ["timed_out", "succeeded"]
    assert crew.job(jobs["block"]).result == "in time"
    assert crew.attempts(jobs["block"])[0].error["type"] == "TimedOut"
    assert crew.outcomes(jobs["quick"]) == ["succeeded"]
    assert [signal.name for signal in heard if signal.name == "lease.lost"] == []


async def test_what_ended_before_the_loop_was_blocked_is_reported(crew: Crew) -> None:
    async def quick() -> None: ...

    async def block() -> None:
        block_until(lambda: crew.state(first) == "succeeded", "the success of the one before is reported")

    crew.knows(quick)
    crew.knows(block)
    crew.enqueue("quick")
    async with crew.worker() as worker:
        await worker.idle()  # which has a connection for its reports from now on
        first, second = crew.enqueue_many([{"kind": kind, "payload": {}} for kind in ("quick", "block")])
        await worker.idle()
        assert (worker.counts.succeeded, worker.counts.lost) == (3, 0)
    assert [crew.outcomes(job_id) for job_id in (first, second)] == [["succeeded"]] * 2


async def test_what_somebody_holds_is_given_back_when_it_is_free(crew: Crew) -> None:
    """Somebody's open transaction holds up one job, and no other for long."""

    async def block() -> None:
        ids = [other for other in others if other != held]
        block_until(lambda: {crew.state(job_id) for job_id in ids} == {"queued"}, "the others are given back")
        assert crew.state(held) == "running"
        connection.rollback()
        block_until(lambda: crew.held == 1, "the one that was held is given back too")

    async def quick() -> None: ...

    crew.knows(block)
    crew.knows(quick)
    _, *others = crew.enqueue_many([{"kind": kind, "payload": {}} for kind in ("block", *["quick"] * 3)])
    held = others[1]
    with crew.db.connect("superuser", autocommit=False) as connection:
        connection.execute("select from windlass_data.job where id = %s for update", (held,))
        async with crew.worker() as worker:
            await worker.idle()
            assert (worker.counts.released, worker.counts.succeeded) == (3, 4)
    assert [crew.outcomes(other) for other in others] == [["released", "succeeded"]] * 3


async def test_what_is_left_behind_is_given_back_and_what_has_ended_is_reported(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the process is to end over a handler that blocks the loop."""
    run, connected = AsyncLink.run, asyncio.Event()
    seen: dict[str, Any] = {}

    async def run_when_connected(link: AsyncLink, call: Any) -> Any:
        if "complete_jobs" in call.text:
            await connected.wait()
        return await run(link, call)

    async def quick() -> None: ...

    async def waits() -> None:
        await asyncio.sleep(600)

    async def block() -> None:
        left = worker.upkeep.leave(PATIENCE)
        seen.update(left=left, outcomes={kind: crew.outcomes(job_id) for kind, job_id in jobs.items()})

    monkeypatch.setattr(AsyncLink, "run", run_when_connected)
    for function in (quick, waits, block):
        crew.knows(function)
    jobs: dict[str, Any] = {}
    async with crew.worker(grace_seconds=0) as worker:
        for kind in ("quick", "waits"):
            jobs[kind] = crew.enqueue(kind)
        await until(lambda: worker._flow.reporter.under_way, "the report waits for its connection")
        await until(lambda: [job.kind for job in worker.running] == ["waits"], "the other one runs")
        jobs["block"] = crew.enqueue("block")
        await until(lambda: seen, "the worker was left")
        connected.set()
    assert seen == {
        "left": True,
        "outcomes": {"quick": ["succeeded"], "waits": ["released"], "block": ["released"]},
    }
    assert crew.held == 0


async def test_jobs_whose_claim_a_blocked_loop_has_not_read_run_out(crew: Crew) -> None:
    """As the guide says: this worker does not know of them yet."""
    ran: list[int] = []

    async def quick(n: int) -> None:
        ran.append(n)

    def claims() -> list[Any]:
        text = """
            select from pg_stat_activity
            where application_name like 'windlass claim %%' and wait_event_type = 'Lock'"""
        return crew.db.fetch(text, role="superuser")

    crew.knows(quick)
    async with crew.worker(lease_seconds=2) as worker:
        await worker.idle()
        with crew.db.connect("superuser", autocommit=False) as connection:
            jobs = [{"kind": "quick", "payload": {"n": n}, "max_attempts": n} for n in (1, 2)]
            text = "select job_id from windlass.enqueue_jobs(%s, %s)"
            ids = [row.job_id for row in connection.execute(text, (TENANT, json.dumps(jobs))).fetchall()]
            connection.execute("lock table windlass_data.busy_lane in access exclusive mode")
            await until(claims, "a claim waits for the lock, and looks for jobs behind it")
        expired: list[Any] = []

        def expire() -> int:
            expired.extend(crew.db.fetch("select job_id from windlass.expire_leases()", role="superuser"))
            return len(expired)

        block_until(lambda: expire() == 2, "it goes on, nobody reads its answer, and its leases run out")
        await until(lambda: len(ran) == 2, "both run, under other leases")
        await worker.idle()
        assert worker.counts.lost == 2
    assert [crew.outcomes(job_id) for job_id in ids] == [["released", "succeeded"], ["crashed", "succeeded"]]
