"""A worker keeps nothing of the jobs that it is done with."""

import asyncio
import gc
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar
from weakref import WeakSet

import pytest

from tests.integration.crew import Crew, until
from tests.support import Database
from windlass.telemetry import Telemetry
from windlass.worker.context import JobContext
from windlass.worker.worker import Worker

ROUND = 2000
NOISE = 100
CONCURRENCY = 10
"""Few: each thread of the pool keeps some cells, and how many of them a round needs is chance."""


async def quick(n: int, text: str) -> None: ...


async def waits(n: int, text: str) -> dict[str, int]:
    await asyncio.sleep(0)
    return {"n": n}


def in_thread(n: int, text: str) -> int:
    return n


async def fails(n: int, text: str) -> None:
    raise ValueError(text)


async def run_round(crew: Crew, worker: Worker, kind: str, done: int) -> Counter[str]:
    """What is alive after so many more jobs, by its type."""
    payloads = [{"n": n, "text": f"text {n}"} for n in range(ROUND)]
    crew.enqueue_many([{"kind": kind, "payload": p, "max_attempts": 1} for p in payloads])
    counts = worker.counts
    await until(lambda: counts.succeeded + counts.failed == done + ROUND, "all are done")
    await worker.idle()
    gc.collect()
    return Counter(type(thing).__qualname__ for thing in gc.get_objects())


@pytest.mark.parametrize("handler", [quick, waits, in_thread, fails])
async def test_what_is_alive_does_not_grow_with_jobs(db: Database, handler: object) -> None:
    crew = Crew(db)
    kind = handler.__name__  # type: ignore[attr-defined]
    crew.knows(handler)  # type: ignore[arg-type]
    unheard = Telemetry()  # the test runner keeps every log line
    async with crew.worker(concurrency=CONCURRENCY, lease_seconds=60, telemetry=unheard) as worker:
        alive = [await run_round(crew, worker, kind, done) for done in (0, ROUND, 2 * ROUND, 3 * ROUND)]
    grown = {name: count for name, count in (alive[-1] - alive[0]).items() if count > NOISE}
    assert not grown, f"alive after {4 * ROUND} jobs and not after {ROUND}"


class Held:
    """Something that a handler has in hand as it fails."""

    alive: ClassVar[WeakSet["Held"]] = WeakSet()

    def __init__(self) -> None:
        Held.alive.add(self)


async def fails_at_once() -> None:
    held = Held()
    raise ValueError(held)


async def fails_after_a_wait() -> None:
    held = Held()
    await asyncio.sleep(0)
    raise ValueError(held)


async def fails_while_it_fails() -> None:
    held = Held()
    try:
        await fails_after_a_wait()
    except ValueError as error:
        raise KeyError(held) from error


async def fails_by_what_it_returns() -> object:
    return Held()


async def fails_by_what_it_costs(ctx: JobContext) -> None:
    held = Held()
    ctx.tell_stop("lease_lost")
    await ctx.cost(1, f"{held}")


async def fails_by_what_it_has_not_awaited(ctx: JobContext) -> object:
    held = Held()
    ctx.tell_stop("lease_lost")
    ctx.cost(1, f"{held}")
    return {"held": 1}


async def fails_as_it_finishes(ctx: JobContext) -> None:
    held = Held()
    ctx.tell_stop("lease_lost")
    ctx.cost(1, f"{held}")
    await ctx.finish(None)


def fails_by_what_it_costs_in_a_thread(ctx: JobContext) -> None:
    held = Held()
    ctx.tell_stop("lease_lost")
    ctx.cost(1, f"{held}")


async def fails_where_it_is_stopped(ctx: JobContext) -> None:
    held = Held()
    try:
        await asyncio.sleep(60)
    finally:
        raise ValueError(held)


def fails_in_a_thread() -> None:
    held = Held()
    raise ValueError(held)


def fails_in_a_thread_too_late(ctx: JobContext) -> None:
    held = Held()
    ctx.wait_canceled()
    raise ValueError(held)


@pytest.mark.parametrize(
    "handler",
    [
        fails_at_once,
        fails_after_a_wait,
        fails_while_it_fails,
        fails_by_what_it_returns,
        fails_by_what_it_costs,
        fails_by_what_it_has_not_awaited,
        fails_as_it_finishes,
        fails_by_what_it_costs_in_a_thread,
        fails_where_it_is_stopped,
        fails_in_a_thread,
        fails_in_a_thread_too_late,
    ],
)
async def test_nothing_that_a_failed_handler_had_waits_for_the_collector(
    db: Database, handler: Callable[..., Any]
) -> None:
    crew = Crew(db)
    stopped = handler in (fails_where_it_is_stopped, fails_in_a_thread_too_late)
    crew.knows(handler, timeout=0.05 if stopped else None)
    crew.enqueue_many(
        [{"kind": handler.__name__, "payload": {}, "max_attempts": n % 2 + 1} for n in range(20)]
    )
    gc.collect()
    gc.disable()
    try:
        async with crew.worker(concurrency=CONCURRENCY, telemetry=Telemetry([lambda _: None])) as worker:
            await until(lambda: worker.counts.failed + worker.counts.timed_out >= 20, "all have failed")
            await worker.idle()
            await until(lambda: not Held.alive, "all is let go")
    finally:
        gc.enable()


def fails_in_a_child() -> None:
    gc.disable()
    before, held = len(Held.alive), Held()
    raise ValueError(before, held)


async def fails_on_a_loop_in_a_child() -> None:
    gc.disable()
    before, held = len(Held.alive), Held()
    await asyncio.sleep(0)
    raise ValueError(before, held)


@pytest.mark.parametrize("handler", [fails_in_a_child, fails_on_a_loop_in_a_child])
async def test_nor_in_a_child_process(db: Database, handler: Callable[..., Any]) -> None:
    crew = Crew(db)
    crew.knows(handler, isolation="process")
    jobs = crew.enqueue_many([{"kind": handler.__name__, "payload": {}, "max_attempts": 1} for _ in range(5)])
    async with crew.worker(concurrency=1) as worker:
        await until(lambda: worker.counts.failed == len(jobs), "all have failed")
    errors = [crew.attempts(job)[0].error for job in jobs]
    assert [error["message"].split(",")[0] for error in errors] == ["(0"] * len(jobs)
    first = 'Traceback (most recent call last):\n  File "' + __file__
    assert all(error["traceback"].startswith(first) for error in errors)
