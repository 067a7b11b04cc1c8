"""What the upkeep thread does for jobs while a handler blocks the event loop.

The loop begins jobs, ends attempts whose time is up, and reports.  While it is blocked, nobody would do so,
for as long as the handler likes; the leases are renewed all the same.  So the thread gives back what has not
begun, reports what has ended, and ends what is overdue, as the loop would have.  Whatever it speaks of it has
first taken out of where the loop would find it: should the loop wake up at that very moment, each job is
still one's or the other's (see hand_over.py).
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

from windlass.db.link import SyncLink
from windlass.db.rpc_node import stop_node
from windlass.errors import InvalidInput, WindlassError
from windlass.model import ClaimedJob
from windlass.worker.answers import answers_to, call_for
from windlass.worker.attempt import Attempt
from windlass.worker.flow import Flow
from windlass.worker.hand_over import take_all
from windlass.worker.leases import Leases, elapsed_clock
from windlass.worker.outage import lock_not_free
from windlass.worker.reporter import MAX_WORDS, next_batch
from windlass.worker.signals import Signals
from windlass.worker.silence import Silence
from windlass.worker.words import Limits, Word

__all__ = ["SILENT_SECONDS", "StandIn"]

SILENT_SECONDS = 2.0
"""For how long a loop may be silent before it counts as blocked."""
_STOPPING_SECONDS = 0.5
"""The same, once the node was told to stop: what has not begun is given back anyway."""
_LOOK_SECONDS, _STOPPING_LOOK_SECONDS = 1.0, 0.1


class StandIn:
    """`look` is called by the thread, every `interval` seconds; what it says goes over the thread's link."""

    def __init__(
        self, link: SyncLink, flow: Flow, leases: Leases, limits: Limits, node_id: UUID, signals: Signals
    ) -> None:
        self._link = link
        self._flow = flow
        self._leases = leases
        self._limits = limits
        self._node_id = node_id
        self._signals = signals
        self._loop = asyncio.get_running_loop()
        self._silence = Silence(self._loop, _LOOK_SECONDS)
        self._owed: deque[Word] = deque()
        """Words that have no answer yet; the loop takes them back when it wakes up."""
        self._one_by_one = self._warned = False
        self._given_back = 0
        self.stop_asked = self.leaving = False
        self._giving_up = False
        """Whether this look gives back everything: it may be asked for while a look is under way."""
        self.left = threading.Event()
        """Whether everything that was held is given back."""

    @property
    def interval(self) -> float:
        return _STOPPING_LOOK_SECONDS if self.stop_asked or self.leaving else _LOOK_SECONDS

    def look(self) -> bool:
        """Do what there is to do; False if some of it is to be tried again soon."""
        silent, self._giving_up = self._silence.look(), self.leaving
        if silent < (_STOPPING_SECONDS if self.stop_asked else SILENT_SECONDS) and not self._giving_up:
            if not silent:
                self._warned, self._given_back = False, 0
            return True
        if self.stop_asked or self._giving_up:
            self._flow.shut()
        kinds = self._running_kinds()
        try:
            self._given_back += self._take_unbegun()
            self._take_running()
            self._owed.extend(self._flow.reporter.take_unsent())
            done = self._say_owed()
        finally:
            if self._owed:  # whatever went wrong: it was taken from the loop, which says it when it wakes up
                self._on_loop(self._take_back)
            if not self._warned and silent >= SILENT_SECONDS:
                self._warn(kinds)
        if self._giving_up and done:
            self._leave()
        return done

    def _leave(self) -> None:
        """What is under way may not have been sent, while a connection was opened: it is said once more."""
        if words := [replace(word, repeated=True) for word in self._flow.reporter.under_way]:
            with suppress(WindlassError):
                self._link.run(call_for(words))
        with suppress(WindlassError):
            self._link.run(stop_node(self._node_id))
        self.left.set()

    # What there is to say -----------------------------------------------------------------------------------

    def _take_unbegun(self) -> int:
        """Take all that has not begun, to give it back; how many jobs these are."""
        attempts = self._flow.attempts.take_unbegun()
        words: list[Word] = []
        for attempt in attempts:
            words += self._take_word(attempt, attempt.stop_word(attempt.reason or "shutdown"))
        jobs = self._flow.take_unbegun()
        self._owe([*words, *self._release(jobs)], attempts)
        if jobs:
            self._on_loop(self._flow.ended, 0)  # slots that waited for them are free
        return len(attempts) + len(jobs)

    def _owe(self, words: list[Word], attempts: list[Attempt]) -> None:
        if words:
            self._on_loop(self._flow.reporter.expect, len(words))  # before an answer can come
            self._owed.extend(words)
        if attempts:
            self._on_loop(self._flow.attempts.forget, attempts)

    def _take_word(self, attempt: Attempt, word: Word | None) -> list[Word]:
        """The word, if it is ours to say and is to be said here."""
        if not self._flow.attempts.take_word(attempt, word):
            return []
        if word is None or (word.finished and not self._giving_up):  # which may wait for the handler itself
            self._on_loop(self._flow.say, attempt, word)
            return []
        return [word]

    def _release(self, jobs: Iterable[ClaimedJob]) -> list[Word]:
        now, words = elapsed_clock(), []
        for job in jobs:
            if self._leases.get(job.token_bytes, now) is None:
                self._on_loop(self._flow.refuse, job)
            else:
                words.append(Word(job, "release"))
        return words

    def _take_running(self) -> None:
        """Speak for those that have ended, or ran too long, or are not waited for any more."""
        now = elapsed_clock()
        for attempt, outcome in self._flow.attempts.unsaid():
            if outcome is not ...:
                word = attempt.last_word(outcome, self._limits)
            elif attempt.is_overdue(now):
                attempt.warn("timed_out")
                word = attempt.stop_word(attempt.reason or "timed_out")
            elif self._giving_up:
                attempt.warn("shutdown")
                word = attempt.stop_word(attempt.reason or "shutdown")
            else:
                continue
            self._owe(self._take_word(attempt, word), [attempt])

    # Saying it ----------------------------------------------------------------------------------------------

    def _say_owed(self) -> bool:
        """Say all that is owed; False if somebody's transaction holds one of the jobs."""
        while batch := next_batch(self._owed, 1 if self._one_by_one else MAX_WORDS):
            unsaid = list(batch.values())
            try:
                while unsaid:
                    self._say(unsaid[-1])
                    unsaid.pop()
            except WindlassError as error:
                if isinstance(error, InvalidInput) and self._one_by_one:
                    self._on_loop(self._flow.reporter.say_again, unsaid.pop())  # which knows what to do
                    continue
                if not (isinstance(error, InvalidInput) or lock_not_free(error)):
                    raise
                self._one_by_one = True  # so that each is held up by itself alone
                return False
            finally:
                self._put_back(word for words in unsaid for word in words)
        self._one_by_one = False
        return True

    def _say(self, words: list[Word]) -> None:
        answers = list(answers_to(words, self._link.run(call_for(words))))
        self._on_loop(self._flow.reporter.tell, answers)

    def _put_back(self, words: Iterable[Word]) -> None:
        for word in words:
            word.repeated = True
            self._owed.append(word)
        if self._owed:
            self._on_loop(self._take_back)

    def _take_back(self) -> None:
        """On the loop, which is awake again."""
        self._flow.reporter.say_again(take_all(self._owed))

    def _on_loop(self, call: Callable[..., Any], *values: Any) -> None:
        with suppress(RuntimeError):  # of a closed loop
            self._loop.call_soon_threadsafe(call, *values)

    # Telling people -----------------------------------------------------------------------------------------

    def _running_kinds(self) -> list[str]:
        """Of the handler that the loop is in; where that cannot be seen, of all that it has begun."""
        begun = [attempt for attempt, _ in self._flow.attempts.unsaid() if attempt.task is not None]
        task = asyncio.current_task(self._loop)
        current = [attempt for attempt in begun if task is not None and attempt.task is task]
        return sorted({attempt.job.kind for attempt in current or begun})

    def _warn(self, kinds: list[str]) -> None:
        self._warned = True
        who = f"the async handler of {' or '.join(kinds)}" if kinds else "something that is no job"
        jobs = f"; {self._given_back} that had not begun were given back" if self._given_back else ""
        # In a thread of its own: the loop may be blocked in a log that nobody reads, with its lock in hand,
        # and leases are renewed by this one.
        warning = threading.Thread(
            target=self._signals.worker,
            args=["worker.blocked", logging.WARNING],
            kwargs={
                "message": f"{who} blocks the event loop, and with it the jobs of all others{jobs}",
                "kinds": kinds,
                "hint": 'Write it as a plain def, which gets a thread, or with isolation="process".',
            },
            daemon=True,
        )
        with suppress(RuntimeError):  # the system has no further thread
            warning.start()
