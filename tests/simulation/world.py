"""A database, five workers and some people, all from one seed; faults first, then everything is healed."""

from dataclasses import dataclass

from tests.simulation.core import Core
from tests.simulation.people import QUEUES, People
from tests.simulation.values import TERMINAL
from tests.simulation.wire import LEASE, Wire
from tests.simulation.words import Step
from tests.simulation.worker import Worker

__all__ = ["Told", "play"]

WORKERS = 5
PATIENCE = 20 * LEASE
"""So long after healing whatever is there must have ended."""


@dataclass(frozen=True)
class Told:
    """What is known of one world at last."""

    seed: int
    steps: int
    broken: list[str]
    trace: list[Step]
    core: Core


class World:
    def __init__(self, seed: int, core: Core) -> None:
        self._wire = Wire(core, seed)
        self._random = self._wire.random
        self._people = People(self._wire)
        tenants = sorted(QUEUES)
        self._workers = [
            Worker(self._wire, number, tenants[number % 2], QUEUES[tenants[number % 2]])
            for number in range(WORKERS)
        ]
        for worker in self._workers:
            worker.pace = self._random.choice((1.0, 1.0, 0.98, 1.02, 1.3, 0.7))
        self._wire.after(self._random.randrange(LEASE), self._fault)

    def _fault(self) -> None:
        if self._wire.sound:
            return
        worker = self._random.choice(self._workers)
        what = self._random.randrange(7)
        if what < 3:
            worker.crash()
        elif what < 6:
            worker.paused_until = self._wire.now + self._random.randrange(LEASE // 4, 3 * LEASE)
        else:
            self._wire.crash(self._random.randrange(1, LEASE))
        self._wire.after(self._random.randrange(LEASE), self._fault)

    def run(self, steps: int) -> Wire:
        while self._wire.steps < steps and self._wire.step():
            pass
        self._heal()
        until = self._wire.now + PATIENCE
        while self._wire.now < until and not (self._wire.steps % 16 == 0 and self._is_done()):
            self._wire.step()
        return self._wire

    def _heal(self) -> None:
        self._wire.sound = True
        for worker in self._workers:
            worker.paused_until = 0
        self._people.open_all()

    def _is_done(self) -> bool:
        core = self._wire.core
        return all(core.state(job) in TERMINAL for job in core.jobs.values())


def play(seed: int, steps: int, make: type[Core] = Core) -> Told:
    """One world of about so many steps before it is healed."""
    core = make()
    wire = World(seed, core).run(steps)
    return Told(seed, wire.steps, wire.witness.judge(), wire.trace, core)
