"""Procrastinate."""

import asyncio
from typing import Any

from procrastinate import App, PsycopgConnector

from bench.drivers.protocol import QUEUE, Driver, main, payload_of

CONCURRENCY = 10


class ProcrastinateDriver(Driver):
    async def _open_app(self, connections: int) -> None:
        connector = PsycopgConnector(conninfo=self.url, min_size=connections, max_size=connections)
        self._app = App(connector=connector)

        @self._app.task(name="bench.send", queue=QUEUE)
        async def send(n: int, to: str, text: str) -> None:
            self.tally.ran(n)

        self._send = send
        await self._app.open_async()

    async def setup(self) -> None:
        await self._open_app(1)
        await self._app.schema_manager.apply_schema_async()
        await self._app.close_async()

    async def open(self, clients: int) -> None:
        await self._open_app(clients)

    async def enqueue(self, number: int) -> None:
        await self._send.defer_async(**payload_of(number))

    async def enqueue_many(self, numbers: range, options: dict[str, Any]) -> None:
        await self._send.batch_defer_async(*(payload_of(number) for number in numbers))

    async def start_worker(self, options: dict[str, Any]) -> None:
        await self._open_app(CONCURRENCY + 2)
        self._running = asyncio.create_task(
            self._app.run_worker_async(
                queues=[QUEUE], concurrency=CONCURRENCY, wait=True, install_signal_handlers=False
            )
        )
        await asyncio.sleep(0.5)  # it says nothing when its listener is up

    async def stop_worker(self) -> None:
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)


if __name__ == "__main__":
    main(ProcrastinateDriver)
