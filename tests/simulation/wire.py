"""Time, chance and the wires between those who speak and the database: one thread, one seed."""

import random
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from tests.simulation.core import Core
from tests.simulation.witness import Witness
from tests.simulation.words import Step, Word, ask

__all__ = ["LEASE", "Actor", "Wire"]

LEASE = 30_000
PATIENCE = 3_000
LOST_BEFORE, LOST_AFTER, SLOW, TWICE = 0.05, 0.10, 0.14, 0.17
"""Below which number a message gets lost before it took effect, or after it, is late, or comes twice."""


class Wire:
    """Executes words one after the other, each when it arrives; knows what time it is."""

    def __init__(self, core: Core, seed: int) -> None:
        self.core = core
        self.random = random.Random(seed)
        self.witness = Witness(core)
        self.trace: list[Step] = []
        self.now = 0
        self.steps = 0
        self.sound = False
        """From when everything is healed."""
        self._down_until = 0
        self._sessions = 0
        self._events: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = count()

    def after(self, delay: int, act: Callable[..., None], *args: Any) -> None:
        heappush(self._events, (self.now + delay, next(self._order), act, args))

    def step(self) -> bool:
        """Let the next thing happen; False if nothing will."""
        if not self._events:
            return False
        self.now, _, act, args = heappop(self._events)
        self.steps += 1
        act(*args)
        return True

    def crash(self, seconds: int) -> None:
        """The database is gone for a while, with everybody's answers; what it executed, it has kept."""
        self._sessions += 1
        self._down_until = self.now + seconds

    def send(self, word: Word, heard: Callable[[Any], None]) -> None:
        """Some words do not arrive, some answers neither."""
        luck = 1.0 if self.sound else self.random.random()
        if luck < LOST_BEFORE:
            return
        late = LOST_AFTER <= luck < SLOW
        delay = self.random.randrange(2 * LEASE) if late else self.random.randrange(1, 200)
        again = delay + self.random.randrange(1, PATIENCE) if SLOW <= luck < TWICE else delay
        self.after(again, self._arrive, word, None if luck < LOST_AFTER else heard, self._sessions)
        if again > delay:  # as if the first answer got lost and the word was said again at once
            self.after(delay, self._arrive, word, None, self._sessions)

    def _arrive(self, word: Word, heard: Callable[[Any], None] | None, session: int) -> None:
        if session != self._sessions or (self.now < self._down_until and not self.sound):
            return
        answer = self.say(word)
        if heard is not None:
            self.after(self.random.randrange(1, 200), self._answer, heard, answer, session)

    def _answer(self, heard: Callable[[Any], None], answer: Any, session: int) -> None:
        if session == self._sessions:
            heard(answer)

    def say(self, word: Word) -> Any:
        self.core.now = self.now
        answer = ask(self.core, word)
        self.trace.append(Step(self.now, word, answer))
        self.witness.saw(self.now, word, answer)
        return answer


class Actor:
    """Somebody who may crash, stand still, and wait for answers that do not come."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.random = wire.random
        self.life = 0
        self.paused_until = 0
        self._calls = count()
        self._awaited: set[int] = set()

    def later(self, delay: int, act: Callable[..., None], *args: Any) -> None:
        self.wire.after(delay, self._wake, self.life, act, args)

    def _wake(self, life: int, act: Callable[..., None], args: tuple[Any, ...]) -> None:
        if life != self.life:
            self.wire.steps -= 1  # nothing happened
        elif self.paused_until > self.wire.now:
            self.later(self.paused_until - self.wire.now, act, *args)
        else:
            act(*args)

    def die(self) -> None:
        """Forget everything; what was under way comes back to nobody."""
        self.life += 1
        self._awaited.clear()

    def ask(self, word: Word, heard: Callable[[Any], None], silence: Callable[[], None]) -> None:
        """Say a word; either its answer is heard, or nothing in time."""
        call = next(self._calls)
        self._awaited.add(call)
        self.wire.send(word, lambda answer: self._wake(self.life, self._hear, (call, heard, answer)))
        self.later(PATIENCE, self._give_up, call, silence)

    def _hear(self, call: int, heard: Callable[[Any], None], answer: Any) -> None:
        if call in self._awaited:
            self._awaited.discard(call)
            heard(answer)

    def _give_up(self, call: int, silence: Callable[[], None]) -> None:
        if call in self._awaited:
            self._awaited.discard(call)
            silence()
        else:
            self.wire.steps -= 1
