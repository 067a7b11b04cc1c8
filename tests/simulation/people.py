"""Producers and operators: they ask for jobs, sometimes twice, and change their minds about them."""

from typing import Any

from tests.simulation.values import Retry
from tests.simulation.wire import LEASE, Actor, Wire
from tests.simulation.witness import can_be_moved
from tests.simulation.words import Cancel, ClearGate, Enqueue, Redrive, Reschedule, SetGate, Word

__all__ = ["QUEUES", "People"]

QUEUES = {1: "a", 2: "b"}
"""A queue for each tenant: where several share one, chance decides whose turn it is."""


class People(Actor):
    def __init__(self, wire: Wire) -> None:
        super().__init__(wire)
        self._asked: list[tuple[int, int]] = []
        self._gates: set[tuple[Any, ...]] = set()
        for _ in range(self.random.randrange(10)):
            self.enqueue()
        self.turn()

    def turn(self) -> None:
        if self.wire.sound:
            return
        self.later(self.random.randrange(LEASE // 4), self.turn)
        do = self.random.choices(
            (self.enqueue, self.cancel, self.reschedule, self.redrive, self.gate, self.open),
            (12, 2, 2, 3, 1, 1),
        )
        for _ in range(self.random.choice((1, 1, 1, 4))):
            do[0]()

    def enqueue(self) -> None:
        luck, now = self.random, self.wire.now
        tenant, kind, key = luck.choice((1, 2)), luck.choice("xxy"), None
        if luck.random() < 0.3:  # few of them, so that they meet
            tenant, kind, key = 1, "x", luck.choice("kkl")
        word = Enqueue(
            tenant=tenant,
            id=len(self._asked) + 1,
            queue=QUEUES[tenant],
            kind=kind,
            payload=luck.choice((1, 1, 1, 1, 1, 1, 1, 2)),
            priority=luck.choice((0, 0, 1, 2)),
            max_attempts=luck.randint(1, 3),
            run_at=luck.choice((None, None, now - 500, now + luck.randrange(2 * LEASE))),
            key=key,
            scope=luck.choice(("forever", "active", "active")),
            retry=Retry(luck.choice((1_000, 7_000)), luck.choice((1, 2, 3)), luck.choice((None, 20_000))),
        )
        self._asked.append((tenant, word.id))
        self._say(word)

    def _say(self, word: Enqueue) -> None:
        call = self.wire.witness.invoke(word, self.wire.now)

        def heard(answer: Any) -> None:
            step = "ok" if answer in ((word.id, True), (word.id, False)) else "fail"
            self.wire.witness.answer(call, step, self.wire.now)

        def silence() -> None:
            self.wire.witness.answer(call, "unknown", self.wire.now)
            if self.wire.sound or self.random.random() < 0.8:
                self._say(word)

        self.ask(word, heard, silence)

    def _pick(self) -> tuple[int, int]:
        """A job that somebody asked for, rarely in a wrong name."""
        tenant, job = self.random.choice(self._asked) if self._asked else (1, 999_999)
        return (3 - tenant if self.random.random() < 0.05 else tenant), job

    def cancel(self) -> None:
        self._tell(Cancel(*self._pick(), self.random.choice((None, "enough"))))

    def reschedule(self) -> None:
        tenant, job = self._pick()
        if can_be_moved(job):
            at = self.random.choice((None, self.wire.now - 1, self.wire.now + self.random.randrange(LEASE)))
            self._tell(Reschedule(tenant, job, at, self.random.choice((None, None, 0, 1, 2))))

    def redrive(self) -> None:
        tenant, job = self._pick()
        for _ in range(5):  # most jobs are not dead
            if self.wire.core.jobs.get(job) in self.wire.core.of("dead"):
                break
            tenant, job = self._pick()
        self._tell(Redrive(tenant, job, self.random.choice((None, None, 2))))

    def gate(self) -> None:
        luck = self.random
        tenant = luck.choice((None, 1, 2))
        queue, kind = luck.choice((None, "a", "b")), luck.choice((None, None, "x", "y"))
        node = luck.choice((None, None, "1-0", "3-0"))
        until = luck.choice((None, self.wire.now + luck.randrange(-100, 2 * LEASE)))
        self._gates.add((tenant, queue, kind, node))
        self._tell(SetGate(tenant, queue, kind, node, until, luck.random() < 0.4))

    def open(self) -> None:
        scopes = sorted(self._gates, key=str)
        self._tell(ClearGate(*(self.random.choice(scopes) if scopes else (None, "b", "y", None))))

    def open_all(self) -> None:
        """Words that were late may close one again, so this goes on."""
        for scope in sorted(self._gates, key=str):
            self._tell(ClearGate(*scope))
        self.later(LEASE, self.open_all)

    def _tell(self, word: Word) -> None:
        self.ask(word, lambda _: None, lambda: None)
