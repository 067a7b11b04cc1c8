"""The list of lanes that claims look at, kept short."""

from collections.abc import Callable
from datetime import timedelta

from windlass.db.rpc import retire_lanes
from windlass.worker.service import Runner, Service
from windlass.worker.signals import Signals

__all__ = ["LaneKeeper"]

_IDLE = timedelta(seconds=30)
_ALL_ROUNDS = 30


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
        super().__init__(runner, interval, signals, self._is_idle)
        self._idle = idle
        self._went = True
        self._rounds = 0
        self.retired = 0
        """Entries that went so far."""

    def _is_idle(self) -> bool:
        return self._idle is not None and self._idle() and not self._went

    async def tick(self) -> None:
        # Most times only where nothing came of late: a held snapshot keeps all that ever waited there.
        idle = _IDLE if self._rounds % _ALL_ROUNDS else None
        self._rounds += 1
        went = await self._runner.run(retire_lanes(idle))
        self._went = went > 0
        self.retired += went
