"""A worker runs handlers of every sort, and says what became of each job."""

import asyncio
import contextvars
import json
import logging
import os
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.integration.crew import TENANT, Crew, until
from tests.support import Database
from windlass.model import Cancel, RetryAfter, Skip, Snooze
from windlass.telemetry import JsonFormatter, Signal, Telemetry, current_job, log_signals
from windlass.worker.context import JobContext


class Order(BaseModel):
    item: str
    count: int


@pytest.fixture
def crew(db: Database) -> Crew:
    return Crew(db)


def in_child(ctx: JobContext, text: str) -> dict[str, Any]:
    logging.getLogger("shop").warning("in a child: %s", text)
    ctx.cost(7, "stamps")
    return {"pid": os.getpid(), "attempt": ctx.attempt, "kind": current_job().kind}  # type: ignore[union-attr]


async def async_in_child(text: str) -> str:
    await asyncio.sleep(0)
    return text.upper()


async def test_handlers_run_on_the_loop_in_threads_and_in_children(crew: Crew) -> None:
    here = threading.get_ident()

    async def on_loop(order: Order) -> Order:
        assert threading.get_ident() == here
        return Order(item=order.item, count=order.count + 1)

    def in_thread(a: int, b: int = 2) -> int:
        assert threading.get_ident() != here
        return a + b

    crew.knows(on_loop)
    crew.knows(in_thread)
    crew.knows(in_child, isolation="process")
    crew.knows(async_in_child, isolation="process")
    ids = [
        crew.enqueue("on_loop", payload={"item": "tea", "count": 1}),
        crew.enqueue("in_thread", payload={"a": 40}),
        crew.enqueue("in_child", payload={"text": "x"}),
        crew.enqueue("async_in_child", payload={"text": "x"}),
    ]
    async with crew.worker() as worker:
        await worker.idle()
        child = worker.child_pids
    first, second, third, fourth = (crew.job(job_id) for job_id in ids)
    assert [job.state for job in (first, second, third, fourth)] == ["succeeded"] * 4
    assert first.result == {"item": "tea", "count": 2}
    assert second.result == 42
    assert third.result["pid"] != os.getpid()
    assert third.result["pid"] in child
    assert (third.result["attempt"], third.result["kind"], third.cost_cents) == (1, "in_child", 7)
    assert fourth.result == "X"
    assert crew.leases == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in child), "no child outlives its worker"


async def test_a_context_knows_the_attempt(crew: Crew) -> None:
    seen: list[JobContext] = []

    async def look(ctx: JobContext) -> None:
        await ctx.cost(3, "first")
        await ctx.cost(4, "second")
        seen.append(ctx)
        if ctx.attempt == 1:
            raise ValueError("again")

    crew.knows(look)
    job_id = crew.enqueue(
        "look", retry={"base": 0, "factor": 1, "cap": None, "jitter": "none"}, trace_id="t-1"
    )
    async with crew.worker(node_name="node-a") as worker:
        await worker.idle()
    first, second = seen
    assert (first.attempt, first.version, second.attempt, second.version) == (1, 1, 2, 2)
    assert first.job.id == second.job.id == job_id
    assert first.tenant_id == TENANT
    assert first.token != second.token
    assert (second.worker_id, second.job.trace_id) == ("node-a", "t-1")
    assert second.stop_reason is None
    assert not second.should_stop
    assert not second.cancel_requested
    listed = crew.db.fetch("select cost_cents from windlass.list_attempts(%s, %s)", TENANT, job_id)
    assert [attempt.cost_cents for attempt in listed] == [7, 7]
    assert crew.job(job_id).cost_cents == 14


async def test_a_payload_is_checked_again_when_it_runs(crew: Crew, caplog: pytest.LogCaptureFixture) -> None:
    async def take(order: Order) -> None:
        raise AssertionError("must not run")

    crew.knows(take)
    job_id = crew.enqueue("take", payload={"item": "tea", "count": "many"}, max_attempts=1)
    async with crew.worker() as worker:
        await worker.idle()
    job = crew.job(job_id)
    assert job.state == "dead"
    assert job.error["type"] == "InvalidPayload"
    assert "traceback" not in job.error, "nothing of it happened in anybody's code"
    assert "count must be a whole number" in job.error["message"]
    assert "many" not in job.error["message"], "a payload's values stay out of messages"
    (line,) = [record for record in caplog.records if record.message == "job failed"]
    assert (vars(line)["error"], line.exc_info) == (job.error, None)


async def test_what_one_release_cannot_read_another_may(crew: Crew, db: Database) -> None:
    """So a payload that does not fit is a failure like any other, and not the end of the job."""
    other = Crew(db)

    async def take(item: str) -> None:
        raise AssertionError("must not run")

    async def take_more(item: str, count: int) -> int:
        return count

    crew.knows(take)
    other.knows(take_more, kind="take")
    retry = {"base": 3600, "factor": 1, "cap": None, "jitter": "none"}
    job_id = crew.enqueue("take", payload={"item": "tea", "count": 2}, max_attempts=2, retry=retry)
    async with crew.worker() as worker:
        await until(lambda: worker.counts.failed == 1, "the old release cannot read it")
    db.execute("select windlass.reschedule_job(%s, %s, p_run_at => now())", TENANT, job_id)
    async with other.worker() as worker:
        await until(lambda: worker.counts.succeeded == 1, "the new one can")
    assert crew.job(job_id).result == 2


async def test_only_known_kinds_of_its_queues_are_claimed(crew: Crew) -> None:
    async def known() -> None: ...

    crew.knows(known)
    mine = crew.enqueue("known", queue="a")
    other_queue = crew.enqueue("known", queue="b")
    other_kind = crew.enqueue("unknown", queue="a")
    async with crew.worker(queues=["a"]) as worker:
        await worker.idle()
        assert worker.counts.claimed == 1
    assert [crew.state(job) for job in (mine, other_queue, other_kind)] == ["succeeded", "queued", "queued"]
    assert crew.job(other_kind).version == 0


async def test_decisions_are_values(crew: Crew) -> None:
    until_when = crew.db.clock.now() + timedelta(hours=2)
    decisions = {
        "snooze": Snooze(3600),
        "until": Snooze(until=until_when),
        "retry": RetryAfter(1800, "busy"),
        "cancel": Cancel("unwanted"),
        "skip": Skip("nothing new"),
    }

    async def decide(what: str) -> Any:
        return decisions[what]

    crew.knows(decide)
    ids = {what: crew.enqueue("decide", payload={"what": what}) for what in decisions}
    before = crew.db.clock.now()
    async with crew.worker() as worker:
        await worker.idle()
    jobs = {what: crew.job(job_id) for what, job_id in ids.items()}
    assert {what: job.state for what, job in jobs.items()} == {
        "snooze": "queued", "until": "queued", "retry": "queued", "cancel": "canceled", "skip": "skipped"
    }  # fmt: skip
    assert (jobs["snooze"].counted, jobs["retry"].counted) == (0, 1)
    assert before + timedelta(seconds=3600) <= jobs["snooze"].run_at
    assert before + timedelta(seconds=1800) <= jobs["retry"].run_at < jobs["snooze"].run_at
    assert abs(jobs["until"].run_at - until_when) < timedelta(seconds=5)
    assert jobs["skip"].result == {"reason": "nothing new"}
    assert crew.attempts(ids["cancel"])[0].error["message"] == "unwanted"
    assert crew.attempts(ids["retry"])[0].error == {"type": "RetryAfter", "message": "busy"}


async def test_any_exception_is_a_failure_of_its_job_alone(crew: Crew) -> None:
    async def leave() -> None:
        raise SystemExit(3)

    async def cancel_itself() -> None:
        raise asyncio.CancelledError

    async def interrupt() -> None:
        raise KeyboardInterrupt

    def leave_thread() -> None:
        raise SystemExit(3)

    async def fine() -> str:
        return "ok"

    crew.knows(leave)
    crew.knows(cancel_itself)
    crew.knows(interrupt)
    crew.knows(leave_thread)
    crew.knows(fine)
    kinds = ("leave", "cancel_itself", "interrupt", "leave_thread")
    bad = [crew.enqueue(kind, max_attempts=1) for kind in kinds]
    good = crew.enqueue("fine")
    async with crew.worker() as worker:
        await worker.idle()
    assert [crew.state(job) for job in bad] == ["dead"] * 4
    types = [crew.job(job).error["type"] for job in bad]
    assert types == ["SystemExit", "asyncio.exceptions.CancelledError", "KeyboardInterrupt", "SystemExit"]
    assert "handler.py" not in crew.job(bad[0]).error["traceback"], "the traceback begins in the handler"
    assert crew.job(good).result == "ok"


async def test_a_result_that_cannot_be_kept_fails_its_own_job(crew: Crew) -> None:
    """Also one that only the database refuses: short in JSON, long in its own form."""
    results = {
        "object": object(),
        "nan": float("nan"),
        "nul": "a\x00b",
        "long": "x" * 2_000_000,
        "wide": [1e300] * 20_000,
        "good": {"n": 1},
    }

    async def give(what: str) -> Any:
        return results[what]

    crew.knows(give)
    ids = {what: crew.enqueue("give", payload={"what": what}, max_attempts=1) for what in results}
    more = [crew.enqueue("give", payload={"what": "good"}) for _ in range(5)]
    async with crew.worker(concurrency=20) as worker:
        await worker.idle()
    states = {what: crew.state(job_id) for what, job_id in ids.items()}
    assert states == {what: "succeeded" if what == "good" else "dead" for what in results}
    assert [crew.state(job_id) for job_id in more] == ["succeeded"] * 5
    assert "NUL" in crew.job(ids["nul"]).error["message"]
    assert "4194304" in crew.job(ids["wide"]).error["message"]


async def test_what_a_handler_sets_in_its_context_ends_with_it(crew: Crew) -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")
    seen: list[str] = []

    async def on_loop(name: str) -> None:
        seen.append(user.get())
        user.set(name)

    def in_thread(name: str) -> None:
        seen.append(user.get())
        user.set(name)

    crew.knows(on_loop)
    crew.knows(in_thread)
    for kind in ("on_loop", "in_thread"):
        for name in ("ann", "bob"):
            crew.enqueue(kind, payload={"name": name})
    async with crew.worker(concurrency=1) as worker:
        await worker.idle()
    assert seen == ["nobody"] * 4


async def test_lines_about_a_job_carry_its_fields(crew: Crew) -> None:
    lines: list[dict[str, Any]] = []

    class Catch(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(json.loads(JsonFormatter().format(record)))

    async def fine(ctx: JobContext) -> None:
        ctx.log.info("hello")

    async def bad() -> None:
        raise ValueError("no")

    logger = logging.getLogger("test.worker")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(Catch())
    job_log = logging.getLogger("windlass.job")
    handler = Catch()
    job_log.addHandler(handler)
    job_log.setLevel(logging.INFO)
    crew.knows(fine)
    crew.knows(bad)
    good_id = crew.enqueue("fine", trace_id="t-9")
    bad_id = crew.enqueue("bad", max_attempts=1)
    try:
        async with crew.worker(node_name="n1", telemetry=Telemetry([log_signals(logger)])) as worker:
            await worker.idle()
    finally:
        job_log.removeHandler(handler)
        job_log.setLevel(logging.NOTSET)
    by_message = {line["message"]: line for line in lines}
    for message, job_id in (("hello", good_id), ("job succeeded", good_id), ("job failed", bad_id)):
        line = by_message[message]
        assert (line["job_id"], line["worker_id"], line["attempt"]) == (str(job_id), "n1", 1)
        assert line["tenant_id"] == str(TENANT)
        assert line["kind"] in ("fine", "bad")
        assert {"timestamp", "level", "trace_id", "duration_ms"} <= line.keys()
    assert by_message["job succeeded"]["trace_id"] == "t-9"
    assert by_message["job succeeded"]["duration_ms"] >= 0
    assert (by_message["job failed"]["level"], by_message["job failed"]["state"]) == ("error", "dead")
    assert by_message["job failed"]["error"]["message"] == "no"
    assert {"worker started", "worker stopping", "worker stopped"} <= by_message.keys()


async def test_at_info_jobs_that_succeed_are_summed_up(crew: Crew, caplog: pytest.LogCaptureFixture) -> None:
    async def fine() -> None: ...

    async def bad() -> None:
        raise ValueError("no")

    crew.knows(fine)
    crew.knows(bad)
    crew.enqueue_many([{"kind": "fine", "payload": {}} for _ in range(300)])
    bad_id = crew.enqueue("bad", max_attempts=1)
    caplog.set_level(logging.INFO, "windlass.worker")
    async with crew.worker() as worker:
        await worker.idle()
    sums = [record for record in caplog.records if getattr(record, "signal", "") == "worker.summary"]
    assert sum(vars(record)["succeeded"] for record in sums) == 300, "what was left is told at the end"
    assert sum(vars(record)["dead"] for record in sums) == 1
    lines = [record for record in caplog.records if hasattr(record, "job_id")]
    assert [(record.getMessage(), vars(record)["job_id"]) for record in lines] == [
        ("job failed", str(bad_id))
    ], "no line for each"


async def test_subscribers_are_told_of_every_success(crew: Crew) -> None:
    async def fine() -> None: ...

    heard: list[Signal] = []
    crew.knows(fine)
    ids = crew.enqueue_many([{"kind": "fine", "payload": {}} for _ in range(50)])
    async with crew.worker(telemetry=Telemetry([heard.append])) as worker:
        await worker.idle()
    told = [signal for signal in heard if signal.name == "job.succeeded"]
    assert {signal.fields["job_id"] for signal in told} == {str(job_id) for job_id in ids}
    assert {signal.level for signal in told} == {logging.INFO}
    assert {"worker_id", "trace_id", "job_id", "kind", "tenant_id", "attempt", "duration_ms"} <= told[
        0
    ].fields.keys()


async def test_slow_jobs_are_not_hoarded_and_quick_ones_come_in_batches(crew: Crew) -> None:
    gate = asyncio.Event()

    async def slow() -> None:
        await gate.wait()

    async def quick() -> None: ...

    crew.knows(slow)
    crew.knows(quick)
    crew.enqueue_many([{"kind": "slow", "queue": "slow", "payload": {}}] * 10)
    async with crew.worker(queues=["slow"], concurrency=3) as worker:
        await until(lambda: len(worker.running) == 3, "three run")
        assert (worker.counts.claimed, worker.buffered) == (3, 0)
        gate.set()
        await worker.idle()
    crew.enqueue_many([{"kind": "quick", "queue": "quick", "payload": {}}] * 3000)
    async with crew.worker(queues=["quick"], concurrency=10) as worker:
        await worker.idle()
        assert worker.counts.succeeded == 3000
        assert worker.claims_made < 300, "a batch at a time, not a job at a time"


async def test_jobs_claimed_ahead_are_given_back_when_they_turn_out_slow(crew: Crew) -> None:
    gate = asyncio.Event()

    async def quick() -> None: ...

    async def slow() -> None:
        await gate.wait()

    crew.knows(quick)
    crew.knows(slow)
    crew.enqueue_many([{"kind": "quick", "priority": 1, "payload": {}}] * 2000)
    crew.enqueue_many([{"kind": "slow", "payload": {}}] * 400)
    async with crew.worker(concurrency=5) as worker:
        await until(lambda: worker.counts.succeeded == 2000, "the quick ones are done")
        await until(lambda: worker.buffered == 0, "what was claimed ahead is given back")
        await until(
            lambda: worker.counts.released + worker.counts.succeeded + 5 == worker.counts.claimed, "told"
        )
        assert len(worker.running) == 5
        assert worker.counts.released > 0
        gate.set()
        await worker.idle()
        assert worker.counts.succeeded == 2400
