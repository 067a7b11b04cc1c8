"""What every process that runs jobs does for the whole installation, whoever else does it too."""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from windlass.cluster.costs import Bookkeeper
from windlass.cluster.lanes import LaneKeeper
from windlass.cluster.maintenance import Maintainer, Pruner
from windlass.cluster.reaper import Reaper
from windlass.cluster.sealer import Sealer
from windlass.db.connect import Pooler, connect_async
from windlass.db.link import AsyncLink
from windlass.db.schema import check_schema_async
from windlass.errors import Forbidden, Unavailable
from windlass.worker.patience import within
from windlass.worker.service import Service
from windlass.worker.signals import Signals
from windlass.worker.system import SystemWorker
from windlass.worker.worker import Worker

__all__ = ["TendingWorker", "check_database", "make_services"]

_log = logging.getLogger("windlass.worker")
_CLOSE_PATIENCE = 2.0


async def check_database(url: str, pooler: Pooler) -> None:
    """Refuse the schema of another release, and a login that may not run jobs.

    Of one that sees the rows of every tenant it warns.  This is for the start: a right that somebody takes
    away from a worker may be given back, and the worker waits for that.
    """
    async with await connect_async(url, pooler=pooler) as connection:
        login = await check_schema_async(connection)
    if not login.may_claim:
        raise Forbidden(
            f"the login {login.name} may not run jobs: grant it windlass_worker",
            hint=f"grant windlass_worker to {login.name}; and windlass_producer, if its handlers enqueue: "
            "docs/postgresql.md",
        )
    if login.exempt:
        _log.warning(
            "the login %s is a superuser or has BYPASSRLS: nothing keeps tenants apart in what handlers do "
            "with it; make one that is only in windlass_worker and windlass_producer (docs/postgresql.md)",
            login.name,
        )


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
            await check_database(self._url, self._pooler)
        await super().__aenter__()
        for service in self._services:
            await service.start()
        return self

    async def _close(self) -> None:
        for service in self._services:
            await service.stop()
        await within(_CLOSE_PATIENCE, self._link.close())
        await super()._close()
