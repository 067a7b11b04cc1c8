"""PgQueuer."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.queries import Queries

from bench.drivers.protocol import QUEUE, Driver, main, payload_of

BATCH = 500


class PgQueuerDriver(Driver):
    async def setup(self) -> None:
        async with asyncpg.create_pool(self.url, min_size=1, max_size=2) as pool:
            await Queries(AsyncpgPoolDriver(pool)).install()

    async def open(self, clients: int) -> None:
        self._pool = await asyncpg.create_pool(self.url, min_size=clients, max_size=clients)
        self._queries = Queries(AsyncpgPoolDriver(self._pool))

    async def enqueue(self, number: int) -> None:
        await self._queries.enqueue(QUEUE, json.dumps(payload_of(number)).encode())

    async def enqueue_many(self, numbers: range, options: dict[str, Any]) -> None:
        payloads = [json.dumps(payload_of(number)).encode() for number in numbers]
        await self._queries.enqueue([QUEUE] * len(payloads), payloads, [0] * len(payloads))

    async def start_worker(self, options: dict[str, Any]) -> None:
        pool = await asyncpg.create_pool(self.url, min_size=4, max_size=8)
        self._queuer = PgQueuer(AsyncpgPoolDriver(pool))

        @self._queuer.entrypoint(QUEUE)
        async def handle(job: Any) -> None:
            self.tally.ran(json.loads(job.payload)["n"])

        self._running = asyncio.create_task(
            self._queuer.run(batch_size=BATCH, dequeue_timeout=timedelta(seconds=30))
        )
        await asyncio.sleep(0.5)  # it says nothing when its listener is up

    async def stop_worker(self) -> None:
        self._queuer.shutdown.set()
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)


if __name__ == "__main__":
    main(PgQueuerDriver)
