"""The list of lanes that claims look at, kept short."""

from collections.abc import Callable
from datetime import timedelta

from windlass.db.rpc import retire_lanes
from windlass.worker.service import Runner, Service
from windlass.worker.signals import Signals

__all__ = ["LaneKeeper"]

_IDLE = timedelta(seconds=10)
"""For how long the tenants of these lanes have enqueued nothing.  To look at an empty lane in each claim for
longer than that costs more than to list it again."""
_ALL_ROUNDS = 30
_BATCH = 1000
_MOST_BATCHES = 100
_VAIN_LOOKS = 2
"""So many without a find since there was work, and the second has seen all that rested by then."""


class LaneKeeper(Service):
    """Takes lanes with nothing in line off the list, so that no claim pays for tenants without work.

    At leisure: a lane that gets its next job meanwhile need not be listed again.  But what is empty goes at
    once, however much it is: until then every claim looks at all of it.  Once nothing went any more, and
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
        self._vain = 0
        self._rounds = 0
        self.retired = 0
        """Entries that went so far."""

    def _is_idle(self) -> bool:
        if self._idle is None or not self._idle():
            self._vain = 0
        return self._vain >= _VAIN_LOOKS

    async def tick(self) -> None:
        # Most times only where nothing came of late: a held snapshot keeps all that ever waited there.
        idle = _IDLE if self._rounds % _ALL_ROUNDS else None
        self._rounds += 1
        found = 0
        for _ in range(_MOST_BATCHES):
            went = await self._runner.run(retire_lanes(_BATCH, idle))
            found += went
            self.retired += went
            if went < _BATCH:  # of a full batch more may be left: ask again
                break
        self._vain = 0 if found else self._vain + 1
