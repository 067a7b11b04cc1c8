"""The ledger's sums, kept up to date."""

from windlass.db.rpc_costs import fold_costs
from windlass.worker.service import Runner, Service
from windlass.worker.signals import Signals

__all__ = ["Bookkeeper"]


class Bookkeeper(Service):
    """Moves what was reported of late into the sums of its day, one bounded batch at a time.

    Every node has one, and of several at once one does the work.  Sums that are asked for are exact whether
    it has come by or not; it keeps asking for them cheap.
    """

    name = "bookkeeping"

    def __init__(
        self,
        runner: Runner,
        *,
        interval: float = 30.0,
        batch: int = 5000,
        signals: Signals | None = None,
    ) -> None:
        super().__init__(runner, interval, signals)
        self._batch = batch
        self.folded = 0
        """Rows that were moved so far."""

    async def tick(self) -> None:
        moved = self._batch
        while moved >= self._batch:  # a full batch: more may be waiting
            moved = await self._runner.run(fold_costs(self._batch))
            self.folded += moved
