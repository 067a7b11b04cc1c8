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
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

from windlass.db.link import SyncLink
from windlass.db.rpc_node import stop_node
from windlass.errors import WindlassError
from windlass.model import ClaimedJob
from windlass.worker.answers import answers_to, call_for
from windlass.worker.attempt import Attempt
from windlass.worker.flow import Flow
from windlass.worker.leases import Leases, elapsed_clock
from windlass.worker.owed import Owed
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
        reporter = flow.reporter
        self._owed = Owed(self._say, lambda words: self._on_loop(reporter.say_again, words))
        """Words that have no answer yet; the loop takes them back when it wakes up.  What to do with those
        that nobody can say, its reporter knows."""
        self._in_doubt = Owed(self._repeat, lambda _: None)
        """Words that are the loop's, and said once more before the process ends."""
        self._take_back_asked = False
        self._warned = False
        self._given_back = 0
        self.stop_asked = self.leaving = False
        self._farewell_said = self._giving_up = False
        """Whether this look gives back everything: it may be asked for while a look is under way."""
        self.left = threading.Event()
        """Whether everything that was held is given back, but for what somebody's transaction holds."""

    @property
    def interval(self) -> float:
        return _STOPPING_LOOK_SECONDS if self.stop_asked or self.leaving else _LOOK_SECONDS

    def look(self) -> bool:
        """Do what there is to do; False if some of it is to be tried again soon."""
        silent, first_of_last = self._silence.look(), self.leaving and not self._giving_up
        self._giving_up = self._giving_up or first_of_last
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
            self._owed.add(self._flow.reporter.take_unsent(), last=self._giving_up)
            if first_of_last:
                self._begin_last()
            done = self._owed.say_all(last=self._giving_up) and self._in_doubt.say_all(last=True)
        finally:
            self._leave_to_loop()  # whatever went wrong: it was taken from the loop, which says it when awake
            if not self._warned and silent >= SILENT_SECONDS:
                self._warn(kinds)
        if self._giving_up:
            self._say_farewell()  # even if words are left: they are held, and the process may end any moment
            if done:
                self.left.set()
        return done

    def _begin_last(self) -> None:
        """What is under way may not have been sent, while a connection was opened: it is said once more."""
        self._owed.begin_last()
        reporter = self._flow.reporter
        under_way = [*reporter.under_way, *reporter.apart.under_way]
        self._in_doubt.add([replace(word, repeated=True) for word in under_way], last=True)

    def _say_farewell(self) -> None:
        if not self._farewell_said:
            with suppress(WindlassError):
                self._link.run(stop_node(self._node_id))
                self._farewell_said = True

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
            self._owed.add(words, last=self._giving_up)
        if attempts:
            self._on_loop(self._flow.attempts.forget, attempts)

    def _take_word(self, attempt: Attempt, word: Word | None) -> list[Word]:
        """The word, if it is ours to say and there is one."""
        if not self._flow.attempts.take_word(attempt, word):
            return []
        if word is None:
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
            elif attempt.due <= now:
                attempt.warn(attempt.reason or "timed_out")
                word = attempt.stop_word(attempt.reason or "timed_out")
            elif self._giving_up:
                attempt.warn("shutdown")
                word = attempt.stop_word(attempt.reason or "shutdown")
            else:
                continue
            self._owe(self._take_word(attempt, word), [attempt])

    # Saying it ----------------------------------------------------------------------------------------------

    def _say(self, words: list[Word]) -> None:
        answers = list(answers_to(words, self._link.run(call_for(words))))
        self._on_loop(self._flow.reporter.tell, answers)

    def _repeat(self, words: list[Word]) -> None:
        self._link.run(call_for(words))

    def _leave_to_loop(self) -> None:
        if self._owed and not self._take_back_asked:
            self._take_back_asked = True
            self._on_loop(self._take_back)

    def _take_back(self) -> None:
        """On the loop, which is awake again."""
        self._take_back_asked = False  # first, so that whatever is owed from now on is left to the loop again
        self._flow.reporter.say_again(self._owed.take_all())

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
