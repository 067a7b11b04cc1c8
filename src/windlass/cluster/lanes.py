"""The list of lanes that claims look at, kept short."""

from collections.abc import Callable

from windlass.db.rpc import retire_lanes
from windlass.worker.service import Runner, Service
from windlass.worker.signals import Signals

__all__ = ["LaneKeeper"]

_SPARED_TICKS = 5


class LaneKeeper(Service):
    """Takes lanes with nothing in line off the list, so that no claim pays for tenants without work.

    At leisure: a lane that gets its next job meanwhile need not be listed again.  Once nothing went, and
    while `idle` says that there is no work, it looks at every fifth interval only.
    """

    name = "lanes"

    def __init__(
        self,
        runner: Runner,
        *,
        interval: float = 10.0,
        signals: Signals | None = None,
        idle: Callable[[], bool] | None = None,
    ) -> None:
        super().__init__(runner, interval, signals)
        self._idle = idle
        self._ticks = 0
        self._went = True
        self.retired = 0
        """Entries that went so far."""

    async def tick(self) -> None:
        self._ticks += 1
        if self._idle is not None and self._idle() and not self._went and self._ticks % _SPARED_TICKS:
            return
        went = await self._runner.run(retire_lanes())
        self._went = went > 0
        self.retired += went
