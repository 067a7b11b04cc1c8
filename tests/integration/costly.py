"""A worker whose handlers die right after they reported a cost; a process of test_worker_costs.py."""

import asyncio
import os
import signal
import sys

from windlass.worker.context import JobContext
from windlass.worker.registry import JobDefinition, Registry
from windlass.worker.worker import Worker


async def on_loop(ctx: JobContext) -> None:
    await ctx.cost(3, "paid before the end")
    os.kill(os.getpid(), signal.SIGKILL)


def in_thread(ctx: JobContext) -> None:
    ctx.cost(5, "paid before the end")
    os.kill(os.getpid(), signal.SIGKILL)


async def main(url: str, kind: str) -> None:
    registry = Registry()
    registry.add(JobDefinition.from_function({"on_loop": on_loop, "in_thread": in_thread}[kind]))
    async with Worker(url, registry, lease_seconds=30.0) as worker:
        await worker.run_until_stopped()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
