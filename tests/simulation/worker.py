"""A worker as ours are: it believes in a lease by its own clock, renews, reports, and lets go when told."""

from dataclasses import dataclass
from typing import Any

from tests.simulation.values import Said
from tests.simulation.wire import LEASE, Actor, Wire
from tests.simulation.witness import can_be_moved
from tests.simulation.words import Begin, Claim, Complete, End, Expire, Finish, Renew, Word

__all__ = ["Worker"]

SLOTS = 3
OUTCOMES = (
    *("succeeded", "succeeded", "succeeded", "succeeded", "skipped", "finish", "finish"),
    *("failed", "failed", "timed_out", "snoozed", "released"),
)


@dataclass
class Run:
    """A job in hand."""

    tenant: int
    job: int
    token: int
    version: int
    last: bool
    """Whether it is the last attempt: of those the database is told before and after they begin."""
    started: bool = False


class Worker(Actor):
    """One process after another under one name; its clock is wrong and runs at a pace of its own."""

    def __init__(self, wire: Wire, number: int, tenant: int, queue: str) -> None:
        super().__init__(wire)
        self._number = number
        self._tenant, self._queue = tenant, queue
        self.pace = 1.0
        self._off = self.random.randrange(-3_600_000, 3_600_000)
        self._runs: dict[tuple[int, int], Run] = {}
        self._deadlines: dict[int, int] = {}
        self._outbox: list[tuple[Run, str]] = []
        self.begin()

    @property
    def node(self) -> str:
        return f"{self._number}-{self.life}"

    def clock(self) -> int:
        return int(self.wire.now * self.pace) + self._off

    def begin(self) -> None:
        self._runs, self._deadlines, self._outbox = {}, {}, []
        self.later(self.random.randrange(500), self.claim)
        self.later(LEASE // 3, self.renew)
        self.later(self.random.randrange(LEASE // 2), self.reap)

    def crash(self) -> None:
        self.die()
        self.later(self.random.randrange(1, LEASE), self.begin)

    # Claim

    def claim(self) -> None:
        self.later(self.random.randrange(500, LEASE), self.claim)
        self._claim()

    def _claim(self) -> None:
        if (free := SLOTS - len(self._runs)) > 0:
            kinds = self.random.choice([None, None, ("x",), ("x", "y")])
            word = Claim(self.node, self._queue, kinds, self.random.randint(1, free), LEASE)
            since = self.clock()
            self.ask(word, lambda rows: self._hold(rows, since), self._nothing)

    def _nothing(self) -> None:
        """Whoever was claimed and not heard of waits for the lease to run out."""

    def _hold(self, rows: list[Any], since: int) -> None:
        if rows and len(self._runs) + len(rows) < SLOTS:
            self.later(self.random.randrange(100, 2_000), self._claim)
        for job, token, version, counted, *_ in rows:
            self._deadlines[token] = since + LEASE
            last = counted + 1 >= self.wire.core.jobs[job].max_attempts
            run = self._runs[token, job] = Run(self._tenant, job, token, version, last)
            self.later(self.random.choice([0, 0, 1_000, LEASE // 2]), self._begin, run)

    def _begin(self, run: Run) -> None:
        if not run.last:
            self._start(run, [])
        elif (run.token, run.job) in self._runs:
            word = Begin(((run.token, run.job),), (False,))
            self.ask(word, lambda refused: self._start(run, refused), lambda: self._begin(run))

    def _start(self, run: Run, refused: list[Any]) -> None:
        if (run.token, run.job) not in self._runs or run.started:
            return
        if refused or self._deadlines.get(run.token, self.clock()) <= self.clock():
            self._stop(run)
            return
        run.started = True
        self.wire.witness.note("start", run.tenant, run.job, run.version, run.token)
        if run.last:
            self.ask(Begin(((run.token, run.job),), (True,)), lambda _: None, self._nothing)
        longest = LEASE // 2 if self.wire.sound or self.random.random() < 0.8 else 3 * LEASE
        self.later(self.random.randrange(1, longest), self._end, run)

    # Renew

    def renew(self) -> None:
        self.later(int(LEASE / 3 / self.pace), self.renew)
        now = self.clock()
        for run in [run for run in self._runs.values() if self._deadlines.get(run.token, 0) <= now]:
            self._stop(run)
        tokens = tuple(sorted({run.token for run in self._runs.values()}))
        if tokens:
            self.ask(Renew(tokens, LEASE), lambda told: self._renewed(tokens, told, now), self._nothing)

    def _renewed(self, tokens: tuple[int, ...], told: list[Any], since: int) -> None:
        lost = {token for token, _, code in told if code == "lease_lost"}
        for token in tokens:
            if token not in lost:
                self._deadlines[token] = since + LEASE
        for run in [run for run in self._runs.values() if run.token in lost]:
            self._stop(run)
        for token, job, code in told:
            if (mine := self._runs.get((token, job))) is None:
                continue
            if code == "cancel_requested":
                self._report(mine, "canceled")
            elif code == "release_requested" or (code == "gated" and not mine.started):
                self._report(mine, "released")

    def _stop(self, run: Run) -> None:
        self._runs.pop((run.token, run.job), None)

    # Report

    def _end(self, run: Run) -> None:
        """The handler is done.  That its lease may be lost is for the database to say."""
        if (run.token, run.job) not in self._runs:
            return
        how = "succeeded" if self.wire.sound else self.random.choice(OUTCOMES)
        if how in ("succeeded", "skipped", "finish"):
            self.wire.witness.note("end", run.tenant, run.job, run.version, run.token, "ok")
        if how == "finish":
            word = Finish(run.token, run.job, "finished")
            self.ask(word, lambda _: self._report(run, "succeeded"), lambda: self._report(run, "succeeded"))
        else:
            self._report(run, how)

    def _report(self, run: Run, how: str) -> None:
        self._stop(run)
        if not self._outbox:
            self.later(self.random.choice([0, 100, 1_000]), self._flush)
        self._outbox.append((run, how))
        if self.random.random() < 0.02:
            self._outbox.append((run, how))

    def _flush(self) -> None:
        outbox, self._outbox = self._outbox, []
        done = [(run, how) for run, how in outbox if how in ("succeeded", "skipped")]
        if done:
            words = tuple((run.token, run.job) for run, _ in done)
            results = tuple({"version": run.version, "reason": "so"} for run, _ in done)
            tenants = tuple(run.tenant for run, _ in done)
            self._say(Complete(words, tuple(how for _, how in done), results, tenants))
        verbs = {"failed": "fail", "timed_out": "fail", "canceled": "fail", "snoozed": "snooze"}
        for verb in ("fail", "snooze", "release"):
            said = tuple(
                self._word(run, how)
                for run, how in outbox
                if how not in ("succeeded", "skipped") and verbs.get(how, "release") == verb
            )
            if said:
                self._say(End(verb, said))

    def _word(self, run: Run, how: str) -> Said:
        delay = None
        if how == "snoozed":
            delay = self.random.randrange(0 if can_be_moved(run.job) else 5_000, LEASE)
        elif can_be_moved(run.job) and how in ("failed", "timed_out"):
            delay = self.random.choice([None, None, 0, 1_500])
        error = None if how in ("snoozed", "released") else how
        return Said(run.token, run.job, how, delay, error)

    def _say(self, word: Word) -> None:
        """Until it is answered, in the same words."""
        self.ask(word, lambda _: None, lambda: self._say(word))

    def reap(self) -> None:
        self.later(self.random.randrange(LEASE // 2, 2 * LEASE), self.reap)
        self.ask(Expire(), lambda _: None, self._nothing)
