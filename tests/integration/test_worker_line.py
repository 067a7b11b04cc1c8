"""Handlers on the loop follow each other in one task while none waits, and no job can tell."""

import asyncio
import contextvars
import logging
import time
from typing import Any, cast

import pytest

from tests.integration.crew import Crew, until
from tests.support import Database
from windlass.telemetry import JobFields, current_job, job_fields
from windlass.worker.context import JobContext
from windlass.worker.line import SLICE_SECONDS


@pytest.fixture
def crew(db: Database) -> Crew:
    return Crew(db)


class Incomparable:
    def __eq__(self, other: object) -> bool:
        raise ValueError("which of them?")

    __hash__ = None  # type: ignore[assignment]


async def test_a_handler_that_blocks_past_its_timeout_is_canceled_where_it_first_waits(crew: Crew) -> None:
    seen: list[str] = []

    async def blocks(then_wait: bool) -> str:
        time.sleep(0.1)
        if then_wait:
            try:
                await asyncio.sleep(600)
            finally:
                seen.append("canceled")
        return "done"

    crew.knows(blocks, timeout=0.05)
    late = crew.enqueue("blocks", payload={"then_wait": True}, max_attempts=1)
    done = crew.enqueue("blocks", payload={"then_wait": False}, max_attempts=1)
    async with crew.worker() as worker:
        await worker.idle()
    assert seen == ["canceled"]
    assert crew.outcomes(late) == ["timed_out"]
    assert crew.job(done).result == "done", "what has its result needs no time any more"


async def test_a_cancel_request_that_comes_before_the_first_wait_is_heard_there(crew: Crew) -> None:
    seen: list[Any] = []

    async def holds_the_loop(ctx: JobContext) -> None:
        crew.cancel(ctx.job.id)
        seen.append(ctx.wait_canceled(30))  # told by the thread that renews, while nothing else can run here
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            seen.append(ctx.stop_reason)
            raise

    crew.knows(holds_the_loop)
    job_id = crew.enqueue("holds_the_loop")
    async with crew.worker(lease_seconds=0.5) as worker:
        await worker.idle()
    assert seen == [True, "cancel_requested"]
    assert crew.state(job_id) == "canceled"
    assert crew.outcomes(job_id) == ["canceled"]


async def test_a_job_that_is_canceled_while_it_stands_in_line_is_not_begun(crew: Crew) -> None:
    begun: list[int] = []
    ids: list[Any] = []

    async def handle(ctx: JobContext, n: int) -> None:
        begun.append(n)
        if n == 0:
            crew.cancel(ids[1])
            deadline = time.monotonic() + 30
            while not any(job.id == ids[1] for job in told) and time.monotonic() < deadline:
                time.sleep(0.01)  # the loop stands still meanwhile
                told.extend(a.job for a in worker._flow.attempts._busy if a.was_told())

    told: list[Any] = []
    crew.knows(handle)
    ids += crew.enqueue_many([{"kind": "handle", "payload": {"n": n}} for n in range(3)])
    async with crew.worker(lease_seconds=0.5, concurrency=3) as worker:
        await worker.idle()
    assert begun == [0, 2]
    assert [crew.state(job_id) for job_id in ids] == ["succeeded", "canceled", "succeeded"]
    assert crew.outcomes(ids[1]) == ["canceled"]


async def test_exceptions_before_and_after_the_first_wait_fail_their_own_jobs(crew: Crew) -> None:
    async def handle(n: int) -> int:
        if n % 4 == 0:
            raise ValueError(f"before {n}")
        if n % 4 == 1:
            await asyncio.sleep(0)
            raise ValueError(f"after {n}")
        if n % 4 == 2:
            await asyncio.sleep(0)
        return n

    crew.knows(handle)
    ids = crew.enqueue_many([{"kind": "handle", "payload": {"n": n}, "max_attempts": 1} for n in range(40)])
    async with crew.worker(concurrency=40) as worker:
        await worker.idle()
    for n, job_id in enumerate(ids):
        job = crew.job(job_id)
        if n % 4 in (0, 1):
            assert (job.state, job.error["message"]) == ("dead", f"{('before', 'after')[n % 4]} {n}")
            assert "handler.py" not in job.error["traceback"]
        else:
            assert (job.state, job.result) == ("succeeded", n)


@pytest.mark.parametrize("waits", [False, True])
async def test_no_job_finds_what_another_set_in_its_context(crew: Crew, waits: bool) -> None:
    user: contextvars.ContextVar[Any] = contextvars.ContextVar("user", default="nobody")
    strange: contextvars.ContextVar[Any] = contextvars.ContextVar("strange", default=None)
    seen: list[tuple[Any, Any]] = []

    async def handle(n: int) -> None:
        seen.append((user.get(), strange.get()))
        token = user.set(n)
        if waits:
            await asyncio.sleep(0)
        if n % 3:
            user.reset(token)  # as it was before: then nothing is left behind
        if n % 3 == 1:
            strange.set(Incomparable())

    crew.knows(handle)
    crew.enqueue_many([{"kind": "handle", "payload": {"n": n}} for n in range(30)])
    outside = Incomparable()
    strange.set(outside)
    async with crew.worker(concurrency=10) as worker:
        await worker.idle()
        assert worker.counts.succeeded == 30
    assert len(seen) == 30
    assert all(name == "nobody" and value is outside for name, value in seen)


async def test_a_handler_is_in_one_task_from_its_first_line_to_its_last(crew: Crew) -> None:
    same: list[bool] = []

    async def handle(n: int) -> str:
        task = asyncio.current_task()
        try:
            async with asyncio.timeout(0.001 if n % 2 else 60), asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(30 if n % 2 else 0))
        except TimeoutError:
            return "timeout"
        finally:
            same.append(task is not None and asyncio.current_task() is task)
        return "group"

    crew.knows(handle)
    ids = crew.enqueue_many([{"kind": "handle", "payload": {"n": n}} for n in range(20)])
    async with crew.worker(concurrency=10) as worker:
        await worker.idle()
    assert [crew.job(job_id).result for job_id in ids] == ["group", "timeout"] * 10
    assert same == [True] * 20


async def test_a_task_that_its_own_handler_cancels_takes_no_other_job_with_it(crew: Crew) -> None:
    async def handle(n: int) -> int:
        task = asyncio.current_task()
        if n % 3 == 0 and task is not None:
            task.cancel()  # and no wait, in which it would be heard
        if n % 3 == 1:
            await asyncio.sleep(0)
        return n

    crew.knows(handle)
    ids = crew.enqueue_many([{"kind": "handle", "payload": {"n": n}, "max_attempts": 1} for n in range(30)])
    async with crew.worker(concurrency=30) as worker:
        await worker.idle()
    jobs = [crew.job(job_id) for job_id in ids]
    assert [job.state for job in jobs] == ["dead", "succeeded", "succeeded"] * 10
    assert {job.error["type"] for job in jobs[::3]} == {"asyncio.exceptions.CancelledError"}


async def test_what_a_handler_leaves_running_carries_the_fields_of_its_own_job(crew: Crew) -> None:
    here: list[tuple[Any, Any]] = []
    later: list[tuple[Any, Any]] = []
    tasks: list[asyncio.Task[None]] = []
    go = asyncio.Event()

    async def afterwards(n: int) -> None:
        await go.wait()
        later.append((n, job_fields()["job_id"]))

    async def handle(n: int) -> None:
        here.append((n, str(current_job().id)))  # type: ignore[union-attr]
        tasks.append(asyncio.create_task(afterwards(n)))

    crew.knows(handle)
    ids = crew.enqueue_many([{"kind": "handle", "payload": {"n": n}} for n in range(10)])
    async with crew.worker(concurrency=10) as worker:
        await worker.idle()
        go.set()
        await asyncio.gather(*tasks)
    assert sorted(here) == [(n, str(job_id)) for n, job_id in enumerate(ids)]
    assert sorted(later) == sorted(here)
    assert current_job() is None


async def test_a_handler_that_waits_holds_nobody_up(crew: Crew) -> None:
    gate = asyncio.Event()

    async def waits() -> None:
        await gate.wait()

    async def quick() -> None: ...

    crew.knows(waits)
    crew.knows(quick)
    kinds = ["waits", "quick", "quick"] * 3
    crew.enqueue_many([{"kind": kind, "payload": {}} for kind in kinds])
    async with crew.worker(concurrency=4) as worker:
        await until(lambda: worker.counts.succeeded == 6, "the quick ones are done")
        assert [job.kind for job in worker.running] == ["waits"] * 3
        gate.set()
        await worker.idle()
        assert worker.counts.succeeded == 9


async def test_the_loop_gets_its_turn_between_handlers(crew: Crew) -> None:
    turns = 0
    seen: list[int] = []
    loop = asyncio.get_running_loop()

    def turn() -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(turn)

    async def handle() -> None:
        if not seen:
            turn()
        seen.append(turns)
        time.sleep(2 * SLICE_SECONDS)

    crew.knows(handle)
    crew.enqueue_many([{"kind": "handle", "payload": {}}] * 10)
    async with crew.worker(concurrency=10) as worker:
        await worker.idle()
        assert worker.counts.succeeded == 10
    assert len(set(seen)) == 10, "each is longer than a slice, so none follows another without a turn"


async def test_log_lines_of_a_handler_carry_its_own_job(crew: Crew) -> None:
    fields: list[dict[str, Any]] = []

    class Catch(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            fields.append({"n": record.args, **job_fields()})

    async def handle(n: int) -> None:
        logger.warning("before %d", n)
        if n % 2:
            await asyncio.sleep(0)
            logger.warning("after %d", n)

    logger = logging.getLogger("test.line")
    logger.addHandler(Catch())
    logger.propagate = False
    crew.knows(handle)
    ids = crew.enqueue_many([{"kind": "handle", "payload": {"n": n}} for n in range(10)])
    async with crew.worker(concurrency=10, node_name="n1") as worker:
        await worker.idle()
    assert len(fields) == 15
    assert all(line["job_id"] == str(ids[line["n"][0]]) and line["worker_id"] == "n1" for line in fields)
    assert {line["node_id"] for line in fields} == {str(worker.node_id)}


async def test_a_worker_that_was_stopped_by_a_handler_tells_of_its_end_in_its_own_name(
    crew: Crew, caplog: pytest.LogCaptureFixture
) -> None:
    async def the_last() -> None:
        worker.request_stop()

    crew.knows(the_last)
    crew.enqueue("the_last")
    caplog.set_level(logging.INFO, "windlass.worker")
    worker = crew.worker()
    with caplog.filtering(cast("Any", JobFields())):
        async with worker:
            await worker.run_until_stopped()
    records = [vars(record) for record in caplog.records]
    found = {record["signal"]: record.get("job_id") for record in records if "signal" in record}
    assert {"worker.stopping", "worker.summary", "worker.stopped"} <= found.keys()
    assert set(found.values()) == {None}
