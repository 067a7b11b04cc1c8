"""Recovery of what dead or silent workers held."""

import logging

from windlass.db.rpc import expire_leases
from windlass.worker.service import Runner, Service
from windlass.worker.signals import Signals

__all__ = ["Reaper"]


class Reaper(Service):
    """Expires overdue leases, one bounded batch at a time.

    What becomes of their jobs (queued again, or dead) is decided in SQL by `windlass.expire_leases`; this
    loop only says when to ask.  Claims that come back short ask too: the reaper is for busy times.
    """

    name = "reaper"

    def __init__(
        self, runner: Runner, *, interval: float = 2.0, batch: int = 100, signals: Signals | None = None
    ) -> None:
        super().__init__(runner, interval, signals)
        self._batch = batch
        self.recovered = 0
        """Jobs taken from expired leases so far."""

    async def tick(self) -> None:
        expired = self._batch
        while expired >= self._batch:  # a full batch: more may be waiting, ask again
            expired = await self._runner.run(expire_leases(self._batch))
            if expired:
                self.recovered += expired
                self._signals.worker(
                    "lease.expired",
                    logging.WARNING,
                    message=f"recovered {expired} jobs from expired leases",
                    jobs=expired,
                )
