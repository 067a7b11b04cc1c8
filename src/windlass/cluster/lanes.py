"""The list of lanes that claims look at, kept short."""

from windlass.db.rpc import retire_lanes
from windlass.worker.service import Runner, Service
from windlass.worker.signals import Signals

__all__ = ["LaneKeeper"]


class LaneKeeper(Service):
    """Takes lanes with nothing in line off the list, so that no claim pays for tenants without work.

    At leisure: a lane that gets its next job meanwhile need not be listed again.
    """

    name = "lanes"

    def __init__(self, runner: Runner, *, interval: float = 10.0, signals: Signals | None = None) -> None:
        super().__init__(runner, interval, signals)
        self.retired = 0
        """Entries that went so far."""

    async def tick(self) -> None:
        self.retired += await self._runner.run(retire_lanes())
