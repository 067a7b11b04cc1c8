"""Attempts end from outside: by timeout, by a cancel request, by a lost lease, by the end of the worker."""

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.crew import TENANT, Crew, until
from tests.support import Database
from windlass.telemetry import Signal, Telemetry
from windlass.worker.context import JobContext
from windlass.worker.worker import Worker

# So long that nothing here is heard by the way, with a renewal that was due anyhow.
LONG = 3600.0
NO_DELAY = {"base": 0, "factor": 1, "cap": None, "jitter": "none"}


@pytest.fixture
def crew(db: Database) -> Crew:
    return Crew(db)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds handlers in threads until the test is over, so that none outlives it."""
    gate = threading.Event()
    yield gate
    gate.set()


def sleep_in_child(path: str) -> None:
    Path(path).write_text(str(os.getpid()))
    time.sleep(600)


async def started(path: Path) -> int:
    await until(lambda: path.exists() and path.read_text(), "the child runs")
    return int(path.read_text())


async def listening(worker: Worker) -> None:
    assert worker.listener is not None
    await worker.listener.listening()


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


async def test_an_async_handler_is_canceled_by_its_timeout(crew: Crew) -> None:
    reasons: list[Any] = []

    async def slow(ctx: JobContext) -> str:
        try:
            await asyncio.sleep(600)
        finally:
            reasons.append(ctx.stop_reason)
        return "never"

    async def deaf() -> str:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            return "too late"
        return "never"

    crew.knows(slow, timeout=0.1)
    crew.knows(deaf)
    by_kind = crew.enqueue("slow", max_attempts=1)
    by_job = crew.enqueue("deaf", max_attempts=1, timeout_ms=100)
    async with crew.worker() as worker:
        await worker.idle()
        assert worker.counts.timed_out == 2
    assert reasons == ["timed_out"]
    for job_id in (by_kind, by_job):
        assert crew.outcomes(job_id) == ["timed_out"]
        assert crew.state(job_id) == "dead"
        assert crew.job(job_id).error["type"] == "TimedOut"


async def test_a_thread_that_times_out_keeps_its_slot_and_its_late_result_is_dropped(
    crew: Crew, gate: threading.Event
) -> None:
    told: list[bool] = []

    def slow(ctx: JobContext) -> str:
        told.append(ctx.wait_canceled(30))
        gate.wait(30)
        return "too late"

    async def other() -> None: ...

    crew.knows(slow, timeout=0.1)
    crew.knows(other)
    job_id = crew.enqueue("slow", max_attempts=1)
    async with crew.worker(concurrency=1) as worker:
        await until(lambda: worker.counts.timed_out == 1, "the timeout is reported")
        later = crew.enqueue("other")
        assert (worker.stuck, worker.running) == (1, [])
        assert crew.state(job_id) == "dead"
        assert crew.state(later) == "queued", "the thread still has the only slot"
        gate.set()
        await worker.idle()
    assert told == [True]
    assert crew.outcomes(job_id) == ["timed_out"]
    assert crew.job(job_id).result is None
    assert crew.state(later) == "succeeded"


async def test_a_thread_that_ignores_a_cancel_request_still_times_out(
    crew: Crew, gate: threading.Event
) -> None:
    def deaf() -> None:
        gate.wait(30)

    crew.knows(deaf, timeout=2.0)
    job_id = crew.enqueue("deaf")
    async with crew.worker(lease_seconds=0.5, grace_seconds=0) as worker:
        await until(lambda: worker.running, "it runs")
        crew.cancel(job_id)
        await until(lambda: crew.state(job_id) == "canceled", "it is given up")
        assert worker.stuck == 1
    assert crew.outcomes(job_id) == ["canceled"]


async def test_a_child_that_times_out_is_killed(crew: Crew, tmp_path: Path) -> None:
    crew.knows(sleep_in_child, isolation="process", timeout=0.2)
    job_id = crew.enqueue("sleep_in_child", payload={"path": str(tmp_path / "pid")}, max_attempts=1)
    async with crew.worker() as worker:
        pid = await started(tmp_path / "pid")
        await worker.idle()
        assert worker.stuck == 0
    assert is_gone(pid)
    assert crew.outcomes(job_id) == ["timed_out"]


async def test_a_cancel_request_reaches_handlers_of_every_sort(
    crew: Crew, tmp_path: Path, gate: threading.Event
) -> None:
    seen: dict[str, Any] = {}

    async def on_loop(ctx: JobContext) -> None:
        try:
            await asyncio.sleep(600)
        finally:
            seen["loop"] = (ctx.cancel_requested, ctx.stop_reason)

    async def polite(ctx: JobContext) -> str:
        waiting = asyncio.ensure_future(ctx.canceled())
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            return f"succeeded although {await waiting}"

    def in_thread(ctx: JobContext) -> None:
        assert ctx.wait_canceled(30)
        seen["thread"] = ctx.cancel_requested
        raise InterruptedError("stopped half-way")

    for function in (on_loop, polite, in_thread):
        crew.knows(function)
    crew.knows(sleep_in_child, isolation="process")
    ids = {kind: crew.enqueue(kind) for kind in ("on_loop", "polite", "in_thread")}
    ids["child"] = crew.enqueue("sleep_in_child", payload={"path": str(tmp_path / "pid")})
    async with crew.worker(lease_seconds=1.0) as worker:
        pid = await started(tmp_path / "pid")
        await until(lambda: len(worker.running) == 4, "all run")
        assert {crew.cancel(job_id) for job_id in ids.values()} == {"running"}
        await worker.idle()
    assert seen == {"loop": (True, "cancel_requested"), "thread": True}
    assert is_gone(pid)
    states = {kind: crew.state(job_id) for kind, job_id in ids.items()}
    assert states == {
        "on_loop": "canceled",
        "polite": "succeeded",
        "in_thread": "canceled",
        "child": "canceled",
    }
    # It is told in two ways, and either may come first.
    assert crew.job(ids["polite"]).result in ("cancel_requested", "succeeded although cancel_requested")
    assert crew.outcomes(ids["on_loop"]) == ["canceled"]
    assert crew.leases == 0


async def test_a_cancel_request_is_heard_at_once(crew: Crew, tmp_path: Path) -> None:
    """Long before a renewal is due: on the loop, in threads and in children, and in a last attempt."""

    async def on_loop() -> None:
        await asyncio.sleep(600)

    def in_thread(ctx: JobContext) -> None:
        assert ctx.wait_canceled(60)
        raise InterruptedError("stopped half-way")

    async def cancels_itself(ctx: JobContext) -> None:
        await asyncio.to_thread(crew.cancel, ctx.job.id)
        await asyncio.sleep(600)

    for function in (on_loop, in_thread, cancels_itself):
        crew.knows(function)
    crew.knows(sleep_in_child, isolation="process")
    ids = [crew.enqueue(kind, max_attempts=n) for kind in ("on_loop", "in_thread") for n in (1, 5)]
    child = crew.enqueue("sleep_in_child", payload={"path": str(tmp_path / "pid")})
    async with crew.worker(lease_seconds=LONG, concurrency=6) as worker:
        await listening(worker)
        await started(tmp_path / "pid")
        await until(lambda: len(worker.running) == 5, "all run")
        ids.append(crew.enqueue("cancels_itself"))
        crew.db.execute("select windlass.cancel_job(%s, j) from unnest(%s) as j", TENANT, [*ids[:4], child])
        await until(lambda: {crew.state(job_id) for job_id in (*ids, child)} == {"canceled"}, "all stop")
        await until(lambda: worker.counts.canceled == 6, "all of it is answered")


async def test_a_lost_lease_stops_the_attempt_and_is_never_reported(
    crew: Crew, tmp_path: Path, gate: threading.Event
) -> None:
    reasons: list[Any] = []

    async def on_loop(ctx: JobContext) -> str:
        if ctx.attempt > 1:
            return "second"
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            reasons.append(ctx.stop_reason)
            return "from the lost attempt"
        return "never"

    def in_thread(ctx: JobContext) -> str:
        if ctx.attempt > 1:
            return "second"
        assert ctx.wait_canceled(30)
        reasons.append(ctx.stop_reason)
        return "from the lost attempt"

    crew.knows(on_loop)
    crew.knows(in_thread)
    ids = [crew.enqueue("on_loop"), crew.enqueue("in_thread")]
    async with crew.worker(lease_seconds=1.5) as worker:
        await until(lambda: len(worker.running) == 2, "both run")
        assert crew.expire_leases() == 2
        await until(lambda: worker.counts.lost == 2, "the worker lets go")
        await worker.idle()
    assert reasons == ["lease_lost", "lease_lost"]
    for job_id in ids:
        assert crew.outcomes(job_id) == ["crashed", "succeeded"]
        assert crew.job(job_id).result == "second"


async def test_stopping_lets_attempts_finish_and_gives_back_the_rest(
    crew: Crew, gate: threading.Event
) -> None:
    finish, canceled = asyncio.Event(), asyncio.Event()

    async def quick() -> str:
        await finish.wait()
        return "done"

    async def slow() -> None:
        try:
            await asyncio.sleep(600)
        finally:
            canceled.set()

    def stubborn() -> None:
        gate.wait(30)

    for function in (quick, slow, stubborn):
        crew.knows(function)
    quick_id, slow_id, stubborn_id = (crew.enqueue(kind) for kind in ("quick", "slow", "stubborn"))
    async with crew.worker(concurrency=3, grace_seconds=1.0) as worker:
        await until(lambda: len(worker.running) == 3, "all run")
        waiting = crew.enqueue("quick")
        worker.request_stop()
        finish.set()
        await worker.run_until_stopped()
        assert (worker.counts.succeeded, worker.counts.released, worker.stuck) == (1, 2, 1)
    assert canceled.is_set()
    assert crew.job(quick_id).result == "done"
    for job_id in (slow_id, stubborn_id):
        assert crew.outcomes(job_id) == ["released"]
        assert (crew.state(job_id), crew.job(job_id).counted) == ("queued", 0)
    assert (crew.state(waiting), crew.job(waiting).version) == ("queued", 0), (
        "nothing is claimed while stopping"
    )
    assert crew.leases == 0


async def test_a_second_request_ends_the_grace_period(crew: Crew) -> None:
    async def slow() -> None:
        await asyncio.sleep(600)

    crew.knows(slow)
    job_id = crew.enqueue("slow")
    async with crew.worker(grace_seconds=600) as worker:
        await until(lambda: worker.running, "it runs")
        worker.request_stop()
        worker.request_stop()
        await worker.run_until_stopped()
    assert crew.outcomes(job_id) == ["released"]


async def test_what_was_claimed_ahead_is_released_at_once(crew: Crew) -> None:
    gate = asyncio.Event()

    async def quick() -> None: ...

    async def slow() -> None:
        await gate.wait()

    crew.knows(quick)
    crew.knows(slow)
    crew.enqueue_many([{"kind": "quick", "priority": 1, "payload": {}}] * 1500)
    ids = crew.enqueue_many([{"kind": "slow", "payload": {}}] * 300)
    async with crew.worker(concurrency=5) as worker:
        await until(
            lambda: worker.buffered and len(worker.running) == 5 and _all_slow(worker), "slow ones wait"
        )
        worker.request_stop()
        await until(lambda: worker.buffered == 0 and worker.counts.released, "they are given back")
        assert len(worker.running) == 5, "those that run may finish"
        gate.set()
        await worker.run_until_stopped()
    assert crew.leases == 0
    states = [crew.state(job_id) for job_id in ids]
    assert (states.count("succeeded"), states.count("queued")) == (5, 295)
    line = crew.db.fetch("select job_id from windlass_data.ready order by seq", role="superuser")
    places = {row.job_id: place for place, row in enumerate(line)}
    given_back = [job_id for job_id in ids if crew.attempts(job_id)]
    order = [places[job_id] for job_id in given_back if job_id in places]
    assert order
    assert order == sorted(order), "those that are given back line up as they did before"


def _all_slow(worker: Worker) -> bool:
    return all(job.kind == "slow" for job in worker.running)


async def test_a_worker_that_is_canceled_still_lets_go(crew: Crew) -> None:
    async def slow() -> None:
        await asyncio.sleep(600)

    crew.knows(slow)
    job_id = crew.enqueue("slow")

    async def main() -> None:
        async with crew.worker(grace_seconds=0) as worker:
            running.set_result(worker)
            await worker.run_until_stopped()

    running: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(main())
    worker = await running
    await until(lambda: worker.running, "it runs")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert crew.outcomes(job_id) == ["released"]


@pytest.mark.direct(reason="ends sessions by their name")
async def test_a_worker_whose_connection_died_while_idle_is_not_listed_once_it_has_stopped(
    crew: Crew,
) -> None:
    async def quick() -> None: ...

    crew.knows(quick)
    job_id = crew.enqueue("quick")
    async with crew.worker() as worker:
        await until(lambda: crew.state(job_id) == "succeeded", "it has reported")
        assert crew.end_sessions("report") == 1
        await worker.stop()
    active = "select count(*) from windlass_data.node where id = %s and stopped_at is null"
    assert crew.db.fetch_value(active, worker.node_id, role="superuser") == 0


async def test_what_is_given_back_says_how_long_it_ran(
    crew: Crew, gate: threading.Event, tmp_path: Path
) -> None:
    released: dict[str, Any] = {}

    def hear(signal: Signal) -> None:
        if signal.name == "job.released":
            released[signal.fields["kind"]] = signal.fields["duration_ms"]

    async def on_loop() -> None:
        await asyncio.sleep(600)

    def in_thread() -> None:
        gate.wait()

    crew.knows(on_loop)
    crew.knows(in_thread)
    crew.knows(sleep_in_child, isolation="process")
    for kind in ("on_loop", "in_thread"):
        crew.enqueue(kind)
    crew.enqueue("sleep_in_child", payload={"path": str(tmp_path / "pid")})
    async with crew.worker(grace_seconds=0.0, telemetry=Telemetry([hear])) as worker:
        await started(tmp_path / "pid")
        await until(lambda: len(worker.running) == 3, "all run")
    assert released.keys() == {"on_loop", "in_thread", "sleep_in_child"}
    assert min(released.values()) > 0
