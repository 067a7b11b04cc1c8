"""What a node waits for before it begins: a database that answers and has the schema of this release."""

import asyncio
from collections.abc import Callable
from typing import Any

from windlass.cluster.services import check_database
from windlass.db.connect import Pooler, connect
from windlass.db.link import hang_up
from windlass.db.migrate import migrate
from windlass.errors import Unavailable
from windlass.worker.outage import Outage
from windlass.worker.patience import within
from windlass.worker.signals import Signals

__all__ = ["await_schema"]

_ONCE_MORE = 0.5


async def await_schema(
    url: str, pooler: Pooler, stop: asyncio.Event, signals: Signals, *, owner_url: str | None = None
) -> bool:
    """Wait for the database, and for nothing else; False if asked to `stop` meanwhile.

    With `owner_url` its schema is brought to this release, otherwise it is only checked.
    """
    outage = Outage("starting", signals)
    while not stop.is_set():
        try:
            if owner_url is not None:
                migration = _Migration(owner_url)
                work = asyncio.create_task(asyncio.to_thread(migration.run))
                await _unless(stop, work, migration.give_up)
            check = asyncio.create_task(check_database(url, pooler))
            await _unless(stop, check, check.cancel)
        except Unavailable as error:
            await within(outage.failed(error), stop.wait())
        else:
            outage.over()
            break
    return not stop.is_set()


class _Migration:
    """In a thread, with a connection that can be taken away from it: nothing is committed then."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._give_up: Callable[[], None] | None = None

    def run(self) -> None:
        with connect(self._url, application_name="windlass migrate") as connection:
            self._give_up = lambda: hang_up(connection)
            migrate(connection)

    def give_up(self) -> None:
        if self._give_up is not None:
            self._give_up()


async def _unless(stop: asyncio.Event, work: "asyncio.Task[Any]", give_up: Callable[[], object]) -> None:
    """Wait for the work and raise its error; asked to stop, have it given up, and wait for that alone.

    Again and again, for whoever waits for a server that is silent may, given up, wait for it once more.
    """
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([work, stopped], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
        while not work.done():
            give_up()
            await asyncio.wait([work], timeout=_ONCE_MORE)
    error = None if work.cancelled() else work.exception()
    if error is not None and not stop.is_set():
        raise error
