"""Signals to worker processes."""

import contextlib
import signal

from tests.chaos.faults.base import Fault
from tests.chaos.fleet import WorkerProcess

__all__ = ["Kill", "Pause", "Storm"]


def send(worker: WorkerProcess, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        worker.send(number)


class Kill(Fault):
    """A worker is gone without a word; a supervisor puts another in its place."""

    name = "kill"
    leases = 0.2
    _victim = ""

    def start(self) -> None:
        worker = self.pick()
        self._victim = worker.name
        send(worker, signal.SIGKILL)

    def heal(self) -> None:
        self.site.replenish()

    def describe(self) -> str:
        return f"SIGKILL to {self._victim}"


class Pause(Fault):
    """A worker stands still for longer than its leases last, and then goes on as if nothing had been."""

    name = "pause"
    leases = 1.7
    _victim: WorkerProcess | None = None

    def start(self) -> None:
        self._victim = self.pick()
        send(self._victim, signal.SIGSTOP)

    def heal(self) -> None:
        if self._victim is not None:
            send(self._victim, signal.SIGCONT)

    def describe(self) -> str:
        return f"SIGSTOP to {self._victim.name if self._victim else 'nobody'} for {self.leases} leases"


class Storm(Fault):
    """Every worker is told to stop, some twice, in the middle of their work."""

    name = "storm"
    leases = 0.5
    _count = 0

    def start(self) -> None:
        self._count = 0
        for slot in self.site.slots:
            for _ in range(self.site.random.choice((1, 2))):
                send(slot.worker, signal.SIGTERM)
                self._count += 1

    def heal(self) -> None:
        self.site.replenish()

    def describe(self) -> str:
        return f"{self._count} SIGTERM to {len(self.site.slots)} workers"
