"""The audit's chain, kept close behind the events."""

from collections.abc import Callable

from windlass.db.rpc_audit import seal_attempts, seal_events
from windlass.worker.service import Runner, Service
from windlass.worker.signals import Signals

__all__ = ["Sealer"]


class Sealer(Service):
    """Seals what its own transactions left unsealed: events that workers cause in bulk, and attempts.

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
        super().__init__(runner, interval, signals, self._is_idle)
        self._batch = batch
        self._idle = idle
        self._found = True
        self.sealed = 0
        """Events given their places so far."""
        self.attempts = 0
        """Attempts that were chained so far."""

    def _is_idle(self) -> bool:
        return self._idle is not None and self._idle() and not self._found

    async def tick(self) -> None:
        while attempts := await self._runner.run(seal_attempts()):  # a bounded piece: more may be waiting
            self.attempts += attempts
        sealed, before = self._batch, self.sealed
        while sealed >= self._batch:  # a full batch: more may be waiting, ask again
            sealed = await self._runner.run(seal_events(self._batch))
            self.sealed += sealed
        self._found = self.sealed > before
