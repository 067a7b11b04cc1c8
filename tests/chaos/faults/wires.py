"""The wire between one worker and the server."""

from typing import ClassVar

from tests.chaos.faults.base import Fault
from tests.chaos.proxy import Mode

__all__ = ["Cut", "Delay", "HalfOpen", "Refuse"]


class Wire(Fault):
    """Sets the mode of the proxy that the first worker is behind."""

    mode: ClassVar[Mode]
    leases = 1.5
    _before = 0

    def start(self) -> None:
        self._before = self.site.proxy.swallowed
        self.site.proxy.set(self.mode)

    def heal(self) -> None:
        if self.site.proxy.mode == self.mode:
            self.site.proxy.set("pass")

    def describe(self) -> str:
        return f"the wire of w1: {self.mode}"


class Cut(Wire):
    """What was asked for happens, and the answer never arrives."""

    name = "cut"
    mode = "cut"

    def describe(self) -> str:
        return f"{self.site.proxy.swallowed - self._before} answers of w1's requests cut off"


class Delay(Wire):
    name = "delay"
    mode = "delay"


class HalfOpen(Wire):
    """Nothing passes, and nobody is told."""

    name = "half-open"
    mode = "half-open"


class Refuse(Wire):
    name = "refuse"
    mode = "refuse"
