"""Jobs that age, through a worker: a stream of urgent ones does not keep a patient one waiting for ever."""

import asyncio

import pytest

from tests.integration.crew import PATIENCE, until
from tests.sql.steps import Session
from tests.support import Clock, Database
from windlass.worker.registry import JobDefinition, Registry
from windlass.worker.worker import Worker

IN_LINE = 100
"""Urgent jobs in line at any time: more than a worker claims ahead."""


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "beside others"])
@pytest.mark.parametrize("mode", ["fair", "strict"])
async def test_a_patient_job_passes_urgent_ones_once_it_has_aged(
    db: Database, clock: Clock, mode: str, alone: bool
) -> None:
    """Alone the database says who is next; beside others the worker goes by turns and by what it was told."""
    order: list[str] = []
    free = asyncio.Semaphore(0)

    async def note(name: str) -> None:
        order.append(name)
        await free.acquire()

    registry = Registry()
    registry.add(JobDefinition.from_function(note, kind="note"))
    db.execute(f"select windlass.set_queue('default', '{mode}', p_ageing_seconds => 600)", role="app")
    session, others = Session(db.connect()), Session(db.connect())

    def enqueue(name: str, count: int, priority: int) -> None:
        job = {"kind": "note", "payload": {"name": name}, "priority": priority}
        session.enqueue_many([job] * count)

    enqueue("patient", 1, 0)
    enqueue("urgent", IN_LINE, 2)
    if not alone:
        others.tenant = db.fetch_value("select windlass.create_tenant('others')", role="app")
        queue = "default" if mode == "fair" else "side"
        others.enqueue_many([{"kind": "note", "payload": {"name": "other"}, "queue": queue}] * 2_000)

    async def next_one() -> None:
        started = len(order)
        free.release()
        await until(lambda: len(order) > started, "the next one starts")
        if order[-1] == "urgent":
            enqueue("urgent", 1, 2)

    async with (
        Worker(db.url(), registry, queues=("default", "side"), concurrency=1, grace_seconds=0.0),
        asyncio.timeout(PATIENCE),
    ):
        await until(lambda: order, "the first one starts")
        for _ in range(IN_LINE // 2):
            await next_one()
        assert "patient" not in order
        clock.advance(1800 + 60)
        # Urgent ones of before have aged as well, and go first; those that come now have not.
        while "patient" not in order:
            await next_one()
        assert alone or "other" in order
