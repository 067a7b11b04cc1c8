"""What every fault is: it can be started, healed and described."""

from abc import ABC, abstractmethod
from typing import ClassVar

from tests.chaos.fleet import WorkerProcess
from tests.chaos.site import Site

__all__ = ["Fault"]


class Fault(ABC):
    """One way in which the world goes wrong, over and over; what has ended is as it was."""

    name: ClassVar[str]
    leases: ClassVar[float] = 0.0
    """How long it lasts, in leases, before it is healed."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def absent(self) -> str | None:
        """Why it cannot be had on this machine or in this run; None if it can."""
        return None

    def prepare(self) -> None:
        """Before the first job."""
        return

    @abstractmethod
    def start(self) -> None:
        """Let it happen; it goes on, or is over at once."""

    def heal(self) -> None:
        """Also where it did not start, or was healed before."""
        return

    @abstractmethod
    def describe(self) -> str:
        """What it did last, in a few words."""

    def close(self) -> None:
        """After the run: leave nothing behind on the machine."""
        return

    def pick(self) -> WorkerProcess:
        """One of the workers that run."""
        running = [slot.worker for slot in self.site.slots if slot.worker.running]
        return self.site.random.choice(running or [self.site.slots[0].worker])
