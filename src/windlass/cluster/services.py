"""What every process that runs jobs does for the whole installation, whoever else does it too."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from windlass.cluster.costs import Bookkeeper
from windlass.cluster.lanes import LaneKeeper
from windlass.cluster.maintenance import Maintainer, Pruner
from windlass.cluster.reaper import Reaper
from windlass.cluster.sealer import Sealer
from windlass.db.connect import connect_async
from windlass.db.link import AsyncLink
from windlass.db.schema import check_schema_async
from windlass.errors import Unavailable
from windlass.worker.patience import within
from windlass.worker.service import Service
from windlass.worker.signals import Signals
from windlass.worker.system import SystemWorker
from windlass.worker.worker import Worker

__all__ = ["TendingWorker", "make_services"]

_CLOSE_PATIENCE = 2.0


def make_services(
    link: AsyncLink,
    worker: Worker,
    retention_days: Mapping[str, float],
    signals: Signals,
    follows: Callable[[], bool] = lambda: False,
) -> tuple[Service, ...]:
    """The services beside a worker; `follows` says that another node leads, and so does most of it."""
    return (
        # Claims that find nothing recover what has expired; and where another node leads, that one does.
        Reaper(link, signals=signals, spared=lambda: worker.resting or follows()),
        LaneKeeper(link, signals=signals, idle=lambda: worker.resting),
        Sealer(link, signals=signals, idle=lambda: worker.resting),
        Maintainer(link, signals=signals, spared=follows),
        Bookkeeper(link, signals=signals),
        Pruner(link, retention_days, signals=signals, spared=follows),
    )


class TendingWorker(SystemWorker):
    """A worker in somebody's own process, where it is all there is of Windlass.

    It does not start on the schema of another release.  A database that is not there yet is waited for.
    """

    def __init__(
        self, database_url: str, *args: Any, retention_days: Mapping[str, float], **options: Any
    ) -> None:
        super().__init__(database_url, *args, **options)
        self._link = AsyncLink(database_url, pooler=self._pooler, application_name=self._name("node"))
        self._services = make_services(self._link, self, retention_days, self._signals)

    async def __aenter__(self) -> "TendingWorker":
        with suppress(Unavailable):
            async with await connect_async(self._url, pooler=self._pooler) as connection:
                await check_schema_async(connection)
        await super().__aenter__()
        for service in self._services:
            await service.start()
        return self

    async def _close(self) -> None:
        for service in self._services:
            await service.stop()
        await within(_CLOSE_PATIENCE, self._link.close())
        await super()._close()
