"""Housekeeping of the database: tables for the days ahead, and an end for what was kept long enough."""

import logging
from collections.abc import Callable, Mapping

from windlass.db.rpc_node import maintain, prune_jobs
from windlass.worker.service import Runner, Service
from windlass.worker.signals import Signals

__all__ = ["Maintainer", "Pruner"]


class Maintainer(Service):
    """Makes the tables of the days ahead, and removes expired gates and the traces of silent nodes."""

    name = "maintenance"

    def __init__(
        self,
        runner: Runner,
        *,
        interval: float = 60.0,
        signals: Signals | None = None,
        spared: Callable[[], bool] | None = None,
    ) -> None:
        super().__init__(runner, interval, signals, spared)

    async def tick(self) -> None:
        done = await self._runner.run(maintain())
        if done.missing:
            days = ", ".join(day.isoformat() for day in done.missing)
            self._signals.worker(
                "maintenance.delayed",
                logging.WARNING,
                message=f"the tables of {days} could not be made yet: another transaction is in the way",
            )


class Pruner(Service):
    """Removes finished jobs that were kept as long as the settings say, in bounded pieces."""

    name = "pruning"

    def __init__(
        self,
        runner: Runner,
        keep_days: Mapping[str, float],
        *,
        interval: float = 600.0,
        limit: int = 5000,
        signals: Signals | None = None,
        spared: Callable[[], bool] | None = None,
    ) -> None:
        super().__init__(runner, interval, signals, spared)
        self._keep_days = keep_days
        self._limit = limit
        self.removed = 0
        """Jobs deleted one by one so far; those of dropped days are not counted."""

    async def tick(self) -> None:
        more = True
        while more:
            done = await self._runner.run(prune_jobs(self._keep_days, self._limit))
            more = done.more
            self.removed += done.removed
            if done.dropped or done.removed:
                days = [day.isoformat() for day in done.dropped]
                self._signals.worker("jobs.pruned", logging.INFO, removed=done.removed, dropped_days=days)
