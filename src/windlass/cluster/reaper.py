"""Recovery of what dead or silent workers held."""

import logging
from collections.abc import Callable
from datetime import timedelta

from windlass.db.rpc import expire_leases
from windlass.model.names import plural
from windlass.worker.service import Runner, Service
from windlass.worker.signals import Signals

__all__ = ["Reaper"]

_RECENT = timedelta(minutes=1)
_ALL_ROUNDS = 15


class Reaper(Service):
    """Expires overdue leases, one bounded batch at a time.

    What becomes of their jobs (queued again, or dead) is decided in SQL by `windlass.expire_leases`; this
    loop only says when to ask.  Claims that come back short ask too: the reaper is for busy times.
    """

    name = "reaper"

    def __init__(
        self,
        runner: Runner,
        *,
        interval: float = 2.0,
        batch: int = 100,
        signals: Signals | None = None,
        spared: Callable[[], bool] | None = None,
    ) -> None:
        super().__init__(runner, interval, signals, spared)
        self._batch = batch
        self._rounds = 0
        self.recovered = 0
        """Jobs taken from expired leases so far."""

    async def tick(self) -> None:
        # Most times only what ran out of late: a held snapshot keeps every lease that ever was in the index.
        within = _RECENT if self._rounds % _ALL_ROUNDS else None
        self._rounds += 1
        expired = self._batch
        while expired >= self._batch:  # a full batch: more may be waiting, ask again
            expired = await self._runner.run(expire_leases(self._batch, within))
            if expired:
                self.recovered += expired
                self._signals.worker(
                    "lease.expired",
                    logging.WARNING,
                    message=f"recovered {plural(expired, 'job')} from expired leases",
                    jobs=expired,
                )
