"""What a handler may know and say about the job it runs: its context."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias
from uuid import UUID

from windlass.db.rpc import finish_job
from windlass.errors import WindlassError
from windlass.model import MAX_RESULT_BYTES, ClaimedJob
from windlass.model.cost import check_cost
from windlass.telemetry import JobLog, fields_of
from windlass.worker.costs import Entry, Record
from windlass.worker.result import ANY_RESULT, ResultShape

__all__ = ["JobContext", "StopReason"]

StopReason: TypeAlias = Literal["cancel_requested", "timed_out", "lease_lost", "gate_closed", "shutdown"]


class JobContext:
    """One attempt, as its handler sees it.

    Everything here may be used from the thread or the process in which the handler runs.
    """

    __slots__ = (
        "_cents",
        "_changed",
        "_finished",
        "_guard",
        "_limit",
        "_log",
        "_lost",
        "_on_finish",
        "_owed",
        "_reason",
        "_record",
        "_results",
        "job",
        "prepared",
        "worker_id",
    )

    def __init__(
        self,
        job: ClaimedJob,
        worker_id: str,
        *,
        max_result_bytes: int = MAX_RESULT_BYTES,
        results: ResultShape = ANY_RESULT,
        on_finish: Callable[[], None] | None = None,
        record: Record = Entry.answer,
        prepared: Any = None,
    ) -> None:
        """Made by hand, for a test of a handler, it keeps costs to itself."""
        self.job = job
        self.worker_id = worker_id
        self.prepared = prepared
        """In a child process: what its node had prepared for this attempt."""
        self._limit = max_result_bytes
        self._results = results
        self._on_finish = on_finish
        self._record = record
        self._cents = 0
        self._owed: list[Entry] = []
        self._guard = threading.Lock()
        self._lost = False
        self._finished = False
        self._reason: StopReason | None = None
        self._changed: list[Callable[[], None]] = []
        self._log: logging.LoggerAdapter[logging.Logger] | None = None

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self.job.version

    @property
    def version(self) -> int:
        """The lease version: it rises with each claim of the job, so writes elsewhere can be fenced by it."""
        return self.job.version

    @property
    def token(self) -> UUID:
        """The lease token, which accompanies every word about this attempt."""
        return self.job.token

    @property
    def tenant_id(self) -> UUID:
        return self.job.tenant_id

    @property
    def log(self) -> "logging.LoggerAdapter[logging.Logger]":
        """A logger whose lines carry the job's fields, whatever the logging set-up; `extra` adds to them."""
        if self._log is None:
            self._log = JobLog(logging.getLogger("windlass.job"), fields_of(self.worker_id, self.job))
        return self._log

    def cost(self, cents: int, what: str) -> Awaitable[None]:
        """Enter in the ledger that this attempt cost so many cents, and for what.

        It is kept however the attempt ends, and whatever becomes of this process: it has been written when
        the call returns, in a thread and in a child process, and when it was awaited (`await ctx.cost(...)`)
        on an event loop.  LeaseLost: the job is no longer ours, and nothing was written.
        """
        check_cost(cents, what)
        self.log.debug("cost %d cents: %s", cents, what)
        entry = Entry(self.job, cents, what)
        with self._guard:
            self._owed = [owed for owed in self._owed if not owed.heard]
            self._owed.append(entry)
        if self._lost:
            entry.lose()
        else:
            self._record(entry)
        if not _on_loop():
            entry.wait()
        self._cents += cents
        return entry

    @property
    def cost_cents(self) -> int:
        """What was entered from here so far."""
        return self._cents

    @property
    def owes(self) -> bool:
        """Whether something was said of which the answer was not waited for."""
        return any(not entry.heard for entry in self._owed)

    async def settle(self) -> WindlassError | None:
        """Wait for all that was said without awaiting it; the first that could not be written."""
        # In no name here: an error has the frames that it comes through, which would have the error.
        return _first([await _fault_async(entry) for entry in tuple(self._owed) if not entry.heard])

    def settle_sync(self) -> WindlassError | None:
        """The same where there is no event loop any more."""
        return _first([_fault(entry) for entry in tuple(self._owed) if not entry.heard])

    @property
    def stop_reason(self) -> StopReason | None:
        """Why this attempt should stop, once it should."""
        return self._reason

    @property
    def should_stop(self) -> bool:
        """For handlers in threads, which nobody can stop from outside: whether there is any reason to."""
        return self._reason is not None

    @property
    def cancel_requested(self) -> bool:
        """Whether somebody asked to cancel the job."""
        return self._reason == "cancel_requested"

    async def canceled(self) -> StopReason:
        """Wait until this attempt should stop, and say why."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(changed.set)

        self._changed.append(wake)
        try:
            while self._reason is None:
                await changed.wait()
        finally:
            self._changed.remove(wake)
        return self._reason

    def wait_canceled(self, timeout: float | None = None) -> bool:
        """The same for a thread: whether this attempt should stop, after at most `timeout` seconds."""
        changed = threading.Event()
        self._changed.append(changed.set)
        try:
            return self._reason is not None or changed.wait(timeout)
        finally:
            self._changed.remove(changed.set)

    def tell_stop(self, reason: StopReason) -> None:
        """Say that the attempt should stop; the first reason stays."""
        if self._reason is None:
            self._reason = reason
        if reason == "lease_lost":
            self._lost = True
            for entry in tuple(self._owed):
                entry.lose()
        for wake in tuple(self._changed):
            wake()

    async def finish(self, connection: Any, result: Any = None) -> None:
        """End this job with success inside the caller's own transaction on `connection`.

        Its writes and the success commit together, or neither does: after a rollback the attempt has
        failed.  LeaseLost means that the job is no longer ours, so let the transaction roll back.
        A result or a connection that cannot be used is refused before anything is said, with InvalidInput:
        the handler may then go on as if it had not called.
        Costs stay in either case, and have to be said before.
        """
        from windlass.db.foreign import check_foreign, run_foreign_async

        if self.owes and (fault := await self.settle()):
            try:
                raise fault
            finally:
                del fault
        check_foreign(connection, is_async=True, verb="finish")
        call = self._finish_call(result)
        self._note_finish()
        await run_foreign_async(connection, call)

    def finish_sync(self, connection: Any, result: Any = None) -> None:
        """`finish` on a synchronous connection."""
        from windlass.db.foreign import check_foreign, run_foreign

        if self.owes and (fault := self.settle_sync()):
            try:
                raise fault
            finally:
                del fault
        check_foreign(connection, is_async=False, verb="finish")
        call = self._finish_call(result)
        self._note_finish()
        run_foreign(connection, call)

    @property
    def finished(self) -> bool:
        """Whether the handler finished its job itself; its transaction decides whether that counts."""
        return self._finished

    def _note_finish(self) -> None:
        # Right before the statement is sent: when its answer is lost, the commit may still have happened.
        self._finished = True
        if self._on_finish is not None:
            self._on_finish()

    def _finish_call(self, result: Any) -> Any:
        return finish_job(self.token, self.job.id, self._results.encode(result, self._limit))


def _on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _fault_async(entry: Entry) -> WindlassError | None:
    try:
        await entry
    except WindlassError as error:
        return error
    return None


def _fault(entry: Entry) -> WindlassError | None:
    try:
        entry.wait()
    except WindlassError as error:
        return error
    return None


def _first(faults: list[WindlassError | None]) -> WindlassError | None:
    return next(filter(None, faults), None)
