"""What attempts cost, on its way to the database: at once while it is free, in batches while it is busy."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from copy import copy
from typing import Any, TypeAlias

from windlass.db.link import AsyncLink
from windlass.db.rpc_costs import record_costs
from windlass.errors import InvalidInput, LeaseLost, Unavailable, WindlassError
from windlass.model import ClaimedJob, uuid7
from windlass.worker.outage import Outage, lock_not_free

__all__ = ["Entry", "Ledger", "Record", "refuse_entry"]

MAX_BATCH = 500
LEASE_GOES = 0.02
"""Seconds until a lease that is just being dropped is gone, or stays after all."""


class Entry:
    """One cost that was said.  Its answer is waited for in a thread, or awaited on any event loop."""

    __slots__ = ("_answer", "cents", "heard", "id_bytes", "job", "what")

    def __init__(self, job: ClaimedJob, cents: int, what: str, id_bytes: bytes | None = None) -> None:
        self.id_bytes = id_bytes or uuid7().bytes
        self.job = job
        self.cents = cents
        self.what = what
        self.heard = False
        """Whether whoever said it knows the answer."""
        self._answer: Future[WindlassError | None] = Future()

    @property
    def answered(self) -> bool:
        return self._answer.done()

    def answer(self, error: WindlassError | None = None) -> None:
        """It is written, or why not.  The first answer stays."""
        with suppress(InvalidStateError):
            self._answer.set_result(error)

    def lose(self) -> None:
        self.answer(LeaseLost(f"the lease on job {self.job.id} is lost", job_id=self.job.id))

    def wait(self) -> None:
        """Block until it is written."""
        try:
            error = self._answer.result()
        finally:
            self.heard = True
        if error is not None:
            raise copy(error)

    def __await__(self) -> Generator[Any, None, None]:
        # Who stops waiting does not take back what was said.
        error = yield from asyncio.shield(asyncio.wrap_future(self._answer)).__await__()
        self.heard = True
        if error is not None:
            # What is raised has the frames of whoever has this entry: kept here, it would keep them.
            raise copy(error)


Record: TypeAlias = Callable[[Entry], None]


def refuse_entry(entry: Entry) -> None:
    """For parts of cluster jobs, whose leases are not those of the job."""
    message = "a part of a cluster job has no costs of its own: report them in the leader's action"
    entry.answer(InvalidInput(message))


class Ledger:
    """Writes entries down, from any thread.

    A batch without an answer is said again in the same words; the entries' ids keep it from counting
    twice.  That goes on until it is answered, or until the leases are known to be lost.
    """

    def __init__(self, link: AsyncLink, outage: Outage) -> None:
        self._link = link
        self._outage = outage
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._said: deque[Entry] = deque()
        self._spoken = asyncio.Event()
        self._closed = False

    def record(self, entry: Entry) -> None:
        with self._lock:
            if self._closed:
                entry.answer(Unavailable("the worker has stopped"))
            else:
                self._said.append(entry)
                self._loop.call_soon_threadsafe(self._spoken.set)

    async def run(self) -> None:
        """Write until canceled."""
        while True:
            self._spoken.clear()
            if not self._said:  # looked at first: after an error some may be left
                await self._spoken.wait()
            batch = [self._said.popleft() for _ in range(min(MAX_BATCH, len(self._said)))]
            try:
                await self._write(batch)
            finally:  # nobody may wait for ever, whatever went wrong here
                _answer_all(batch, Unavailable("it is not known whether the cost was written"))

    async def _write(self, entries: Sequence[Entry]) -> None:
        while entries := [entry for entry in entries if not entry.answered]:
            try:
                codes = await self._link.run(_call(entries))
            except InvalidInput as error:
                if len(entries) == 1:
                    entries[0].answer(error)
                    return
                half = len(entries) // 2
                await self._write(entries[:half])
                await self._write(entries[half:])
            except WindlassError as error:
                await asyncio.sleep(LEASE_GOES if lock_not_free(error) else self._outage.failed(error))
            else:
                self._outage.over()
                for entry, code in zip(entries, codes, strict=True):
                    entry.answer() if code == "ok" else entry.lose()

    def close(self) -> None:
        """Write nothing more: whoever still waits, or comes too late, is told so."""
        with self._lock:
            self._closed = True
            left, self._said = list(self._said), deque()
        _answer_all(left, Unavailable("the worker has stopped"))


def _answer_all(entries: Sequence[Entry], error: WindlassError) -> None:
    for entry in entries:
        entry.answer(error)


def _call(entries: Sequence[Entry]) -> Any:
    return record_costs(
        [entry.job.token_bytes for entry in entries],
        [entry.job.id_bytes for entry in entries],
        [entry.cents for entry in entries],
        [entry.what for entry in entries],
        [entry.id_bytes for entry in entries],
    )
