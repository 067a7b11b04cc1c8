"""The worker process of `windlass bench`: works until its standard input closes, tells what began when."""

import asyncio
import json
import sys
from typing import Any

from windlass.cli.bench.jobs import QUEUE, make_app
from windlass.settings import Settings
from windlass.worker.own_process import run_as_worker

BEAT_SECONDS = 0.02


async def main() -> None:
    starts: list[tuple[int, int]] = []
    settings = Settings.from_env()
    loop = asyncio.get_running_loop()
    async with make_app(starts, settings=settings).worker(queues=[QUEUE], concurrency=settings.concurrency):
        over = loop.run_in_executor(None, sys.stdin.read)
        say({"ready": True})
        told = 0
        while not over.done():
            fresh = starts[told:]
            told += len(fresh)
            if fresh:
                say({"starts": fresh})
            await asyncio.wait([over], timeout=BEAT_SECONDS)


def say(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run_as_worker(main())
