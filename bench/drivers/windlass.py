"""Windlass through its public surface: the application object, its client and its worker."""

import asyncio
import os
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from bench.drivers.handlers import make_app
from bench.drivers.protocol import QUEUE, Driver, main, payload_of
from windlass import NewJob, RetryPolicy, Windlass
from windlass.client import AsyncClient
from windlass.settings import Settings
from windlass.telemetry import Signal, Telemetry, configure_logging
from windlass.worker.own_process import run_as_worker
from windlass.worker.worker import Worker

KIND, FLAKY, SLOW = "bench.send", "bench.flaky", "bench.io"
CONCURRENCY = 200
HIGHEST_PRIORITY = 32_767
_SOON = RetryPolicy(base_seconds=0.1, factor=1.0, cap_seconds=0.1, jitter="none", max_attempts=3)


class WindlassDriver(Driver):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self._log = Path(os.devnull).open("w")  # noqa: SIM115 – for as long as the process
        configure_logging("json", "info", self._log)  # as `windlass worker` does where no terminal is
        self._settings = Settings(database_url=self.url)
        self.app = Windlass(settings=self._settings)
        self._io_seconds = 0.0
        self._clients = 1
        self._heard: deque[Signal] = deque(maxlen=1)
        self._client: AsyncClient | None = None
        self._apart: list[AsyncClient] = []
        self._worker: Worker | None = None
        self._register()

    def _register(self) -> None:
        @self.app.job(kind=KIND, queue=QUEUE)
        async def send(n: int, to: str, text: str) -> None:
            self.tally.ran(n)

        @self.app.job(kind=FLAKY, queue=QUEUE, retry=_SOON)
        async def flaky(n: int, to: str, text: str) -> None:
            if n % 10 == 0 and not self.tally.has(n):
                self.tally.ran(n)
                raise RuntimeError("the first attempt of every tenth job fails")
            self.tally.ran(n)

        @self.app.job(kind=SLOW, queue=QUEUE)
        async def wait(n: int, to: str, text: str) -> None:
            self.tally.ran(n)
            await asyncio.sleep(self._io_seconds)

        self._send = send

    async def setup(self) -> None:
        """The parent has migrated the database: that needs another role than work does."""

    async def open(self, clients: int) -> None:
        self._clients = clients
        self._client = AsyncClient(self._settings, pool_size=clients)
        await self._client.list_queues()

    async def open_apart(self, clients: int, quiet: bool) -> None:
        """As many applications as there are clients: what one gathers, another does not see."""
        await self.open(1)
        url = f"{self.url}&options=-c%20windlass.quiet%3Don" if quiet else self.url
        settings = Settings(database_url=url)
        self._apart = [AsyncClient(settings, pool_size=1) for _ in range(clients)]
        await asyncio.gather(*(client.list_queues() for client in self._apart))

    @property
    def client(self) -> AsyncClient:
        if self._client is None:
            raise RuntimeError("open comes first")
        return self._client

    async def enqueue(self, number: int) -> None:
        client = self._apart[number % len(self._apart)] if self._apart else self.client
        await client.enqueue(self._send.new(**payload_of(number)))

    async def enqueue_many(self, numbers: range, options: dict[str, Any]) -> None:
        kind = options.get("kind", KIND)
        retry = _SOON if kind == FLAKY else None
        parts = _by_tenant(numbers, options.get("slugs"))

        async def some() -> None:
            for tenant, part in parts:
                payloads = map(payload_of, part)
                await self.client.enqueue_many(kind, payloads, queue=QUEUE, retry=retry, tenant=tenant)

        await asyncio.gather(*(some() for _ in range(self._clients)))

    async def start_worker(self, options: dict[str, Any]) -> None:
        self._io_seconds = options.get("io_seconds", 0.0)
        app, telemetry = self.app, None
        if variant := options.get("handler"):
            app = make_app(variant, self.tally.ran, KIND, QUEUE, settings=self._settings)
            telemetry = Telemetry([self._heard.append]) if variant == "telemetry" else None
            if variant == "logging":
                configure_logging("json", "debug", self._log)
        concurrency = options.get("concurrency") or CONCURRENCY
        self._worker = app.worker(queues=[QUEUE], concurrency=concurrency, telemetry=telemetry)
        await self._worker.__aenter__()

    async def stop_worker(self) -> None:
        if self._worker is not None:
            await self._worker.stop()

    # What only Windlass can do ----------------------------------------------------------------------------

    async def create_tenants(self, slugs: list[str]) -> None:
        waiting = iter(slugs)

        async def some() -> None:
            for slug in waiting:
                await self.client.create_tenant(slug)

        await asyncio.gather(*(some() for _ in range(4)))

    async def limit_tenants(self, slugs: list[str]) -> None:
        for slug in slugs:
            await self.client.set_limit(tenant=slug, concurrency=100_000, rate=1_000_000)

    async def schedule(self, first: int, count: int, days: int) -> None:
        """Jobs that are not due for days, ahead of all others by priority."""
        run_at = datetime.now(UTC) + timedelta(days=days)
        for start in range(first, first + count, 10_000):
            jobs = _describe(range(start, min(start + 10_000, first + count)), {})
            await self.client.enqueue_jobs(
                [replace(job, priority=HIGHEST_PRIORITY, run_at=run_at) for job in jobs]
            )

    async def enqueue_late(self, first: int, count: int, hold: float) -> None:
        """Enqueue inside a transaction that commits long after, when the line has moved past its place."""
        connection = await psycopg.AsyncConnection.connect(self.url)
        async with connection:
            jobs = _describe(range(first, first + count), {})
            await self.client.using(connection).enqueue_jobs(jobs)
            await asyncio.sleep(hold)

    async def enqueue_timed(self, slugs: list[str], first: int, each: int) -> list[tuple[int, int]]:
        """So many jobs for each tenant, tenant by tenant; when each enqueue returned."""
        returned = []
        for place, slug in enumerate(slugs):
            numbers = range(first + place * each, first + (place + 1) * each)
            await self.client.enqueue_jobs(list(_describe(numbers, {})), tenant=slug)
            now = time.monotonic_ns()
            returned += [(number, now) for number in numbers]
        return returned


def _describe(numbers: range, options: dict[str, Any]) -> Iterator[NewJob]:
    kind = options.get("kind", KIND)
    retry = _SOON if kind == FLAKY else None
    for number in numbers:
        yield NewJob(kind=kind, payload=payload_of(number), queue=QUEUE, retry=retry)


def _by_tenant(numbers: range, slugs: list[str] | None) -> Iterator[tuple[str | None, range]]:
    """An even share for each tenant, the first ones taking what does not divide."""
    if not slugs:
        yield None, numbers
        return
    share, more = divmod(len(numbers), len(slugs))
    start = numbers.start
    for place, slug in enumerate(slugs):
        end = start + share + (place < more)
        if end > start:
            yield slug, range(start, end)
        start = end


if __name__ == "__main__":
    main(WindlassDriver, run_as_worker)
