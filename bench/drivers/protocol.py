"""What every driver shares: requests come on standard input, answers go to standard output, a line each.

Only the standard library is used, so that a driver runs in the environment of the system it drives.
Times are nanoseconds of the monotonic clock, which all processes of a machine share.
"""

import asyncio
import base64
import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

__all__ = ["QUEUE", "Driver", "Tally", "main", "payload_of"]

QUEUE = "bench"
BEAT_SECONDS = 0.01  # the end of a drain is seen that much late: long beats flatter whoever is slower
WARM_UP = 20
_TEXT = "The quick brown fox jumps over the lazy dog, and again"


def payload_of(number: int) -> dict[str, Any]:
    """About a hundred bytes of JSON; the number says which job it is."""
    return {"n": number, "to": f"user{number % 1000:03}@example.org", "text": _TEXT}


class Tally:
    """Which handlers really ran, and when: the worker's own account, held against the database's later."""

    def __init__(self, capacity: int, *, starts: bool) -> None:
        self.handled = 0
        self.first = 0
        self.starts: list[tuple[int, int]] | None = [] if starts else None
        self._seen = bytearray(b"\0") * max(capacity, 1)  # written, so that it counts as used from the start

    def ran(self, number: int) -> None:
        """A handler began; counts a number beyond the capacity too, by growing."""
        if not self.handled:
            self.first = time.monotonic_ns()
        self.handled += 1
        try:
            self._seen[number] = 1
        except IndexError:
            self._seen.extend(bytes(max(number - len(self._seen) + 1, len(self._seen))))
            self._seen[number] = 1
        if self.starts is not None:
            self.starts.append((number, time.monotonic_ns()))

    def has(self, number: int) -> bool:
        return number < len(self._seen) and self._seen[number] == 1

    def report(self) -> dict[str, Any]:
        seen = base64.b64encode(self._seen.rstrip(b"\0")).decode()
        return {"handled": self.handled, "first": self.first, "starts": self.starts, "seen": seen}


class Driver(ABC):
    """One system.  A process either enqueues or works; the parent decides by what it asks."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.url: str = config["url"]
        self.tally = Tally(0, starts=False)

    @abstractmethod
    async def setup(self) -> None:
        """Make the tables, in a fresh database."""

    @abstractmethod
    async def open(self, clients: int) -> None:
        """Connect as a producer, so that so many can enqueue at once."""

    async def open_apart(self, clients: int, quiet: bool) -> None:
        """The same for clients that share nothing; where `open` gives each a connection, it does that.

        `quiet` ones send no notice, whoever waits for one: for a system that has such a setting.
        """
        if quiet:
            raise RuntimeError("this system has no setting for that")
        await self.open(clients)

    @abstractmethod
    async def enqueue(self, number: int) -> None:
        """Enqueue one job; it is durable on return."""

    @abstractmethod
    async def enqueue_many(self, numbers: range, options: dict[str, Any]) -> None:
        """Enqueue many by the best bulk call; they are durable on return."""

    @abstractmethod
    async def start_worker(self, options: dict[str, Any]) -> None:
        """Work from now on; returns when it can claim."""

    @abstractmethod
    async def stop_worker(self) -> None:
        """Finish what runs, and stop."""

    async def notify_single(self) -> None:
        """Called before paced enqueues; a system that can do without notices turns them on here."""
        return


class Session:
    """Carries out the requests, one after the other."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._beats: asyncio.Task[None] | None = None

    async def ping(self) -> None:
        """Answered when everything is imported: what that costs belongs to no measurement."""

    async def setup(self) -> None:
        await self.driver.setup()

    async def open(self, clients: int = 1, apart: bool = False, quiet: bool = False) -> None:
        await (self.driver.open_apart(clients, quiet) if apart else self.driver.open(clients))

    async def single(self, first: int, count: int) -> dict[str, Any]:
        """One after the other, each awaited."""
        began = time.monotonic_ns()
        for number in range(first, first + count):
            await self.driver.enqueue(number)
        return {"ns": time.monotonic_ns() - began}

    async def paced(self, first: int, count: int, every: float) -> dict[str, Any]:
        """One at a time at even intervals; when each enqueue returned."""
        await self.driver.notify_single()
        returned = []
        due = time.monotonic()
        for number in range(first, first + count):
            due += every
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await self.driver.enqueue(number)
            returned.append((number, time.monotonic_ns()))
        return {"returned": returned}

    async def spread(self, first: int, count: int, clients: int) -> dict[str, Any]:
        """Several at once, each one after the other."""

        async def one(start: int) -> None:
            for number in range(start, first + count, clients):
                await self.driver.enqueue(number)

        began = time.monotonic_ns()
        await asyncio.gather(*(one(first + place) for place in range(clients)))
        return {"ns": time.monotonic_ns() - began}

    async def bulk(self, first: int, count: int, batch: int = 10_000, **options: Any) -> dict[str, Any]:
        began = time.monotonic_ns()
        for start in range(first, first + count, batch):
            await self.driver.enqueue_many(range(start, min(start + batch, first + count)), options)
        return {"ns": time.monotonic_ns() - began}

    async def work(self, capacity: int = 0, starts: bool = False, **options: Any) -> None:
        self.driver.tally = Tally(capacity, starts=starts)
        self._beats = asyncio.create_task(self._beat())
        await self.driver.start_worker(options)

    async def stop(self) -> dict[str, Any]:
        await self.driver.stop_worker()
        if self._beats is not None:
            self._beats.cancel()
        return self.driver.tally.report()

    async def other(self, name: str, **arguments: Any) -> Any:
        """What only some systems can do."""
        return await getattr(self.driver, name)(**arguments)

    async def _beat(self) -> None:
        while True:
            say({"beat": [time.monotonic_ns(), self.driver.tally.handled]})
            await asyncio.sleep(BEAT_SECONDS)


def say(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


async def serve(driver: Driver) -> None:
    """Until standard input closes, which it does when the parent ends in whatever way."""
    loop = asyncio.get_running_loop()
    requests = asyncio.StreamReader(limit=2**24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(requests), sys.stdin)
    session = Session(driver)
    while line := await requests.readline():
        request = json.loads(line)
        number, verb = request.pop("id"), request.pop("do")
        method: Callable[..., Awaitable[Any]] = getattr(session, verb)
        try:
            say({"id": number, "answer": await method(**request)})
        except Exception as error:
            say({"id": number, "error": f"{type(error).__name__}: {error}"})


def main(
    make: Callable[[dict[str, Any]], Driver],
    run: Callable[[Coroutine[Any, Any, None]], None] | None = None,
) -> None:
    """The whole of a driver's process; `run` runs it to its end, on uvloop if nothing else is said."""
    driver = make(json.loads(os.environ["BENCH_CONFIG"]))
    (run or _run_on_uvloop)(serve(driver))
    sys.stdout.flush()
    os._exit(0)  # what a system leaves running, threads above all, must not keep the process


def _run_on_uvloop(work: Coroutine[Any, Any, None]) -> None:
    try:
        from uvloop import new_event_loop
    except ImportError:
        asyncio.run(work)
        return
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(work)
