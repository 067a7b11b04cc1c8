"""The audit's chain, kept close behind the events."""

from collections.abc import Callable

from windlass.db.rpc_audit import seal_events
from windlass.worker.service import Runner, Service
from windlass.worker.signals import Signals

__all__ = ["Sealer"]

_SPARED_TICKS = 5


class Sealer(Service):
    """Seals the events that their own transactions left unsealed: those that workers cause in bulk.

    Every node may be at it at once; a chain that one of them holds is passed over by the others.  Once there
    was nothing to seal, and while `idle` says that there is no work, it looks at every fifth interval only.
    """

    name = "sealing"

    def __init__(
        self,
        runner: Runner,
        *,
        interval: float = 5.0,
        batch: int = 10_000,
        signals: Signals | None = None,
        idle: Callable[[], bool] | None = None,
    ) -> None:
        super().__init__(runner, interval, signals)
        self._batch = batch
        self._idle = idle
        self._ticks = 0
        self._found = True
        self.sealed = 0
        """Events given their places so far."""

    async def tick(self) -> None:
        self._ticks += 1
        if self._idle is not None and self._idle() and not self._found and self._ticks % _SPARED_TICKS:
            return
        sealed, before = self._batch, self.sealed
        while sealed >= self._batch:  # a full batch: more may be waiting, ask again
            sealed = await self._runner.run(seal_events(self._batch))
            self.sealed += sealed
        self._found = self.sealed > before
