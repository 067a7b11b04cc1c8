"""The way of a job through a worker: claimed, buffered, started, spoken of, answered.

Everything here runs on the event loop, except the two ears of the renewal thread.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence

from windlass.model import ClaimedJob
from windlass.worker.attempt import Attempt
from windlass.worker.attempts import Attempts
from windlass.worker.begins import Begins
from windlass.worker.claims import MAX_BATCH, Claims
from windlass.worker.context import StopReason
from windlass.worker.counts import Counts, note_answers
from windlass.worker.hand_over import take_all
from windlass.worker.leases import Leases, elapsed_clock
from windlass.worker.pace import Pace
from windlass.worker.reporter import Answer, Reporter
from windlass.worker.signals import Signals
from windlass.worker.summary import Summary
from windlass.worker.weight import Weight
from windlass.worker.words import Word

__all__ = ["Flow"]

MAX_BACKLOG = 2000
"""Words without an answer beyond which no further job is started: the database is behind, or away."""
_SHED_AFTER_SECONDS = 1.0


class Flow:
    """Joins the lanes of one worker; they are given to it before it is used."""

    attempts: Attempts
    begins: Begins
    reporter: Reporter
    claims: Claims

    def __init__(self, concurrency: int, leases: Leases, counts: Counts, signals: Signals) -> None:
        self._concurrency = concurrency
        self._leases = leases
        self._counts = counts
        self._signals = signals
        self.summary = Summary(counts, signals)
        self.mismatch: Callable[[], bool] = lambda: False
        """Whether nothing can be said of jobs, because the database was migrated to another release."""
        self._loop = asyncio.get_running_loop()
        self._pace, self._weight = Pace(), Weight()
        self._buffer: deque[ClaimedJob] = deque()
        self._moved = elapsed_clock()
        self._low_water = 0
        self._closed = False

    @property
    def buffered(self) -> int:
        return len(self._buffer)

    @property
    def empty(self) -> bool:
        """Whether no job is anywhere in here."""
        return not (self._buffer or self._taken or self.reporter.backlog)

    @property
    def _taken(self) -> int:
        """Slots that are not free."""
        return self.attempts.busy + self.begins.waiting

    def room(self) -> int:
        """How many could start at once."""
        return max(0, self._concurrency - self._taken)

    def demand(self) -> int:
        """How many jobs to claim now: what can start at once, and what will soon."""
        if self._closed or self.reporter.backlog >= MAX_BACKLOG or self.mismatch():
            return 0
        if self._buffer:
            self._start_some()  # what a mismatch held back; else there are no slots for it
        most = self._weight.most()
        target = self.room() + min(self._pace.ahead(), most)
        self._low_water = target // 2
        if len(self._buffer) > self._low_water:
            return 0
        return min(MAX_BATCH, most, target - len(self._buffer))

    def admit(self, jobs: list[ClaimedJob], since: float) -> None:
        """Take what a claim brought that was asked for at `since`."""
        self._counts.claimed += len(jobs)
        self._weight.note(jobs)
        self._leases.hold(jobs, since)
        if not self._buffer:
            self._moved = elapsed_clock()
        self._buffer.extend(jobs)
        if self._closed:
            self.release_buffer()
        else:
            self._start_some()

    def _start_some(self) -> None:
        room = min(self._concurrency - self._taken, MAX_BACKLOG - self.reporter.backlog)
        if not self._buffer or self._closed or room <= 0 or self.mismatch():
            return
        self._moved = now = elapsed_clock()
        told = self._signals.heard(logging.DEBUG)
        while room > 0:
            try:
                job = self._buffer.popleft()
            except IndexError:
                break
            lease = self._leases.get(job.token_bytes, now)
            if lease is None:
                self._lose(job)
                continue
            room -= 1
            if job.counted + 1 >= job.max_attempts:
                self.begins.add(job)
                continue
            if told:
                self._signals.job("job.started", job, logging.DEBUG)
            self.attempts.start(job, lease)

    def begin(self, job: ClaimedJob) -> Attempt | None:
        """Start a last attempt, of which the database knows now."""
        lease = self._leases.get(job.token_bytes, elapsed_clock())
        if lease is None:
            self.refuse(job)
            return None
        if self._signals.heard(logging.DEBUG):
            self._signals.job("job.started", job, logging.DEBUG)
        return self.attempts.start(job, lease)

    def refuse(self, job: ClaimedJob) -> None:
        """This one must not be started, and its slot is free."""
        self._lose(job)
        self.ended(0)

    def ended(self, count: int) -> None:
        """So many slots are free."""
        self._pace.note(count)
        self._start_some()
        if len(self._buffer) <= self._low_water:
            self.claims.make_room()

    def say(self, attempt: Attempt, word: Word | None) -> None:
        """The last word on an attempt; None is for a lost lease."""
        if word is None:
            self._lose(attempt.job)
        else:
            self.reporter.say(word)

    def answered(self, words: Sequence[Word], answer: Answer) -> None:
        """All of these got the same answer."""
        self._leases.let_go([word.job.token_bytes for word in words])
        self.summary.expect()
        note_answers(self._counts, self._signals, words, answer)
        backlog = self.reporter.backlog
        if backlog < MAX_BACKLOG <= backlog + len(words):  # what it held back may go on
            self._start_some()
            self.claims.make_room()

    def _lose(self, job: ClaimedJob) -> None:
        self._leases.let_go((job.token_bytes,))
        self.summary.expect()
        self._counts.lost += 1
        self._signals.job("lease.lost", job, logging.WARNING)

    def shed(self) -> None:
        """Give back what others could start sooner: jobs turned out slower than those before them."""
        if self._buffer and elapsed_clock() - self._moved > _SHED_AFTER_SECONDS:
            self.release_buffer(keep=self._pace.ahead())

    def release_buffer(self, keep: int = 0) -> None:
        """Give back jobs that were not started, the latest ones; they line up again in their order."""
        now = elapsed_clock()
        jobs = take_all(self._buffer)
        self._buffer.extend(jobs[:keep])
        for job in jobs[keep:]:
            if self._leases.get(job.token_bytes, now) is None:
                self._lose(job)
            else:
                self.reporter.say(Word(job, "release"))

    def close(self) -> None:
        """Start nothing more, and give back what was not started."""
        self._closed = True
        self._buffer.extendleft(reversed(self.begins.take_back()))
        self.release_buffer()

    def shut(self) -> None:
        """From any thread: start nothing more."""
        self._closed = True

    def take_unbegun(self) -> list[ClaimedJob]:
        """From any thread: the jobs of which there is no attempt yet, nor will be."""
        return [*self.begins.take_back(), *take_all(self._buffer)]

    def hear_lost(self, tokens: list[bytes]) -> None:
        """From the renewal thread: these leases are no longer ours.

        A lease that was settled while the question was under way is gone too; of its jobs none runs.
        """
        self._leases.lose(tokens)
        if self.begins.waiting:
            self._loop.call_soon_threadsafe(self._lose_waiting)
        self._stop_soon(self.attempts.matching(tokens), "lease_lost")

    def _lose_waiting(self) -> None:
        """What waits for the database to know of it may wait for long: not beyond its lease."""
        now = elapsed_clock()
        for job in self.begins.take_back():
            if self._leases.get(job.token_bytes, now) is None:
                self.refuse(job)
            else:
                self.begins.add(job)

    def hear_cancel(self, wanted: list[tuple[bytes, bytes]]) -> None:
        """From the renewal thread: somebody asked to cancel these.

        What was not started never is: given back, it ends canceled.
        """
        self._loop.call_soon_threadsafe(self._give_back, {job_id for _, job_id in wanted})
        jobs = {job_id for _, job_id in wanted}
        matching = self.attempts.matching(token for token, _ in wanted)
        self._stop_soon([a for a in matching if a.job.id_bytes in jobs], "cancel_requested")

    def hear_gate(self, code: str, wanted: list[tuple[bytes, bytes]]) -> None:
        """From the renewal thread: a gate has closed on these.

        What was not started is given back; with `release_requested` also what runs.
        """
        self._loop.call_soon_threadsafe(self._give_back, {job_id for _, job_id in wanted})
        if code == "release_requested":
            jobs = {job_id for _, job_id in wanted}
            matching = self.attempts.matching(token for token, _ in wanted)
            self._stop_soon([a for a in matching if a.job.id_bytes in jobs], "gate_closed")

    def _give_back(self, job_ids: set[bytes]) -> None:
        jobs = take_all(self._buffer)
        self._buffer.extend(job for job in jobs if job.id_bytes not in job_ids)
        held = [job for job in jobs if job.id_bytes in job_ids]
        for job in (*self.begins.take_back(job_ids), *held):
            self.reporter.say(Word(job, "release"))
        self.ended(0)

    def _stop_soon(self, attempts: list[Attempt], reason: StopReason) -> None:
        for attempt in attempts:
            attempt.warn(reason)  # at once: the loop may be blocked by a handler
            self._loop.call_soon_threadsafe(self.attempts.stop, attempt, reason)
