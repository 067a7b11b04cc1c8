"""A worker keeps nothing of the jobs that it is done with."""

import asyncio
import gc
from collections import Counter

import pytest

from tests.integration.crew import Crew, until
from tests.support import Database
from windlass.telemetry import Telemetry
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
