"""The floor under handlers that wait: nobody is without a job while there is one, and nothing is lost."""

import asyncio
from collections.abc import Sequence
from typing import Any

from bench.drivers.flow import Flow

BATCH = 10


class Table:
    """Jobs that are claimed in batches and deleted when they are done."""

    def __init__(self, jobs: int) -> None:
        self.waiting = list(range(jobs))
        self.deleted: list[int] = []
        self.empty = asyncio.Event()

    async def claim(self) -> Sequence[tuple[int]]:
        rows, self.waiting = self.waiting[:BATCH], self.waiting[BATCH:]
        return [(number,) for number in rows]

    async def delete(self, ids: list[Any]) -> None:
        await asyncio.sleep(0)
        self.deleted += ids

    async def nap(self) -> None:
        self.empty.set()
        await asyncio.sleep(0)


def flow_over(table: Table, handle: Any) -> Flow:
    return Flow(
        claim=table.claim, handle=handle, delete=table.delete, nap=table.nap, concurrency=4, least=BATCH
    )


async def test_one_slow_handler_holds_up_no_other() -> None:
    table, release = Table(100), asyncio.Event()

    async def handle(row: Any) -> None:
        await (release.wait() if row[0] == 0 else asyncio.sleep(0))

    flow = flow_over(table, handle)
    running = asyncio.create_task(flow.run())
    async with asyncio.timeout(10):
        while len(table.deleted) < 99:
            await asyncio.sleep(0)
        release.set()
        flow.stop()
        await running
    assert sorted(table.deleted) == list(range(100))


async def test_as_many_run_at_once_as_may_and_all_of_them_end() -> None:
    table, running_now, most = Table(50), 0, 0

    async def handle(row: Any) -> None:
        nonlocal running_now, most
        running_now += 1
        most = max(most, running_now)
        await asyncio.sleep(0)
        running_now -= 1

    flow = flow_over(table, handle)
    running = asyncio.create_task(flow.run())
    async with asyncio.timeout(10):
        await table.empty.wait()
        flow.stop()
        await running
    assert most == 4
    assert sorted(table.deleted) == list(range(50))
