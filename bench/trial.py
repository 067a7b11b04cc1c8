"""One measurement: a system, a fresh database, its processes, and an account that must balance at the end."""

import asyncio
import base64
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from bench.probe import Costs, Meter
from bench.process import DriverProcess
from bench.server import Database, MeasuredServer
from bench.systems.redis import open_redis
from bench.systems.system import System

__all__ = ["JobsLost", "Outcome", "Trial", "WorkerReport"]

STALLED_SECONDS = 90.0
ASK_SECONDS = 0.002


class JobsLost(Exception):
    """The account does not balance; the measurement counts for nothing."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a measurement found: figures by name, perhaps a curve, and what it cost per job."""

    figures: Mapping[str, float]
    costs: Costs | None = None
    curve: Sequence[tuple[float, float]] = ()
    """Seconds since the start, and jobs per second."""
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What a worker says at its end."""

    handled: int
    first: int
    seen: bytes
    starts: dict[int, int]

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> "WorkerReport":
        starts: dict[int, int] = {}
        for number, at in said["starts"] or ():
            starts.setdefault(number, at)
        return cls(said["handled"], said["first"], base64.b64decode(said["seen"]), starts)


@dataclass(slots=True)
class Trial:
    """Everything that a workload needs; what it starts ends with the trial."""

    server: MeasuredServer
    system: System
    database: Database
    scale: float
    seed: int
    say: Callable[[str], None]
    options: Mapping[str, Any]
    connection: Any = None
    redis_socket: str | None = None
    _teller: DriverProcess | None = None
    _open: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def __aenter__(self) -> "Trial":
        self.connection = await self.connect()
        if self.system.on_redis:
            self.redis_socket = await self._open.enter_async_context(open_redis())
        driver = await self.driver()
        await driver.call("setup", timeout=120)
        if self.system.on_redis:
            self._teller = driver
        else:
            await driver.close()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    def size(self, jobs: int, least: int = 200) -> int:
        """So many at scale 1."""
        return max(least, round(jobs * self.scale))

    def load(self, jobs: int, least: int = 200) -> int:
        """The same for a large load, of which a slow system gets its share."""
        return self.size(round(jobs * self.system.share), least)

    async def connect(self) -> Any:
        """A connection to the measured database that may see everything."""
        connection = await self.server.connect(self.database.admin_url)
        self._open.push_async_callback(connection.close)
        return connection

    async def driver(self) -> DriverProcess:
        url = self.database.app_url if self.system.migrated else self.database.admin_url
        config = {**self.system.config, "url": url, "seed": self.seed, "redis": self.redis_socket}
        process = await DriverProcess.start(
            self.system.name, self.system.command, config, self.system.environment
        )
        self._open.push_async_callback(process.close)
        await process.call("ping", timeout=120)
        return process

    async def producer(self, clients: int = 1, *, apart: bool = False, quiet: bool = False) -> DriverProcess:
        """A process that is connected and can enqueue, for callers or for clients that share nothing."""
        process = await self.driver()
        await process.call("open", timeout=120, clients=clients, apart=apart, quiet=quiet)
        return process

    async def preload(self, count: int, **options: Any) -> None:
        """Enqueue jobs 0 to count - 1 in bulk, and let the server take breath."""
        self.say(f"enqueueing {count:,} jobs")
        producer = await self.producer()
        await producer.call("bulk", first=0, count=count, **options)
        await producer.close()
        await self.settle()

    async def settle(self) -> None:
        """Statistics and a checkpoint, so that neither falls into the measurement of one system only."""
        await self.connection.execute("vacuum analyze")
        await self.connection.execute("checkpoint")

    async def meter(self, *workers: DriverProcess) -> Meter:
        pids = [worker.pid for worker in workers]
        if self.system.on_redis:
            return await Meter(None, None, pids).start()
        return await Meter(self.connection, self.server.postmaster_pid, pids).start()

    async def left(self) -> int:
        """Not 0 while the database has a job that is not finished."""
        if self._teller is not None:
            return int(await self._teller.call("other", name="left"))
        return int(await self.connection.fetchval(self.system.left_sql))

    async def entered(self) -> int:
        """How many jobs are in the database."""
        if self._teller is not None:
            return await self.left()
        return int(await self.connection.fetchval(self.system.entered_sql))

    async def drained(self, workers: Sequence[DriverProcess], count: int) -> int:
        """Wait until so many handlers began and the database says that nothing is left; when that was."""
        await self.handled(workers, count)
        deadline = time.monotonic() + STALLED_SECONDS
        while not await self._is_done(count):
            self._check_alive(workers)
            if time.monotonic() > deadline:
                raise JobsLost(
                    f"every handler ran, but {STALLED_SECONDS:g} s later jobs are still not finished"
                )
            await asyncio.sleep(ASK_SECONDS)
        return time.monotonic_ns()

    async def _is_done(self, count: int) -> bool:
        if self.system.acks_trail:
            return await self.done() >= count
        return not await self.left()

    async def done(self) -> int:
        """How many jobs the database records as succeeded."""
        return int(await self.connection.fetchval(self.system.done_sql))

    async def handled(self, workers: Sequence[DriverProcess], count: int) -> None:
        """Wait until so many handlers began."""
        last, moved_at = -1, time.monotonic()
        while (so_far := sum(worker.handled for worker in workers)) < count:
            if so_far != last:
                last, moved_at = so_far, time.monotonic()
                self.say(f"{so_far:,} of {count:,} jobs")
            elif time.monotonic() - moved_at > STALLED_SECONDS:
                raise JobsLost(
                    f"{so_far:,} of {count:,} handlers ran, and then none for {STALLED_SECONDS:g} s"
                )
            self._check_alive(workers)
            await asyncio.sleep(ASK_SECONDS)

    async def stop(self, workers: Sequence[DriverProcess]) -> list[WorkerReport]:
        return [WorkerReport.read(await worker.call("stop", timeout=120)) for worker in workers]

    async def balance(self, reports: Sequence[WorkerReport], count: int, *, kept: int = 0) -> None:
        """Every job from 0 to count - 1 was handled, none is left, and the records agree.

        `kept` are the records of finished jobs that were there before.
        """
        seen = _union([report.seen for report in reports], count)
        missing = count - sum(seen)
        if missing:
            raise JobsLost(f"{missing:,} of {count:,} jobs never reached a handler")
        if left := await self.left():
            raise JobsLost(f"the database has jobs that are not finished ({left:,})")
        if self.system.done_sql is not None:
            done = await self.done() - kept
            if done != count:
                raise JobsLost(f"the database records {done:,} succeeded jobs, not {count:,}")

    def _check_alive(self, workers: Sequence[DriverProcess]) -> None:
        for worker in workers:
            if worker.process.returncode is not None:
                raise JobsLost(f"a worker of {self.system.name} ended by itself")


def _union(parts: Sequence[bytes], count: int) -> bytes:
    if len(parts) == 1:
        return parts[0][:count]
    return bytes(
        any(marks) for marks in zip(*(part[:count].ljust(count, b"\0") for part in parts), strict=True)
    )
