"""A worker that also does what Windlass gives itself to do, beside the kinds of its application."""

from collections.abc import Sequence
from typing import Any, Self

from windlass.db.connect import Pooler
from windlass.db.link import AsyncLink
from windlass.db.main_program import refuse_while_reading
from windlass.model.redrive import SYSTEM_QUEUE
from windlass.worker.options import queue_names
from windlass.worker.patience import within
from windlass.worker.redrive import redrive_definition
from windlass.worker.registry import Registry
from windlass.worker.worker import Worker

__all__ = ["SystemWorker"]

_CLOSE_PATIENCE = 2.0


class SystemWorker(Worker):
    """Knows the kinds of a registry and those of Windlass itself, which wait in a queue of their own.

    For these it has a connection more, opened when one of them first runs here.
    """

    def __init__(
        self,
        database_url: str,
        registry: Registry,
        *,
        queues: str | Sequence[str] = ("default",),
        pooler: Pooler = "none",
        **options: Any,
    ) -> None:
        link = AsyncLink(database_url, pooler=pooler, application_name="windlass system")
        everything = Registry()
        for definition in (*registry, redrive_definition(link, registry)):
            everything.add(definition)
        named = queue_names(queues)
        wanted = (*(queue for queue in named if queue != SYSTEM_QUEUE), SYSTEM_QUEUE)
        super().__init__(database_url, everything, queues=wanted if named else (), pooler=pooler, **options)
        self._system_link = link

    async def __aenter__(self) -> Self:
        refuse_while_reading("starts a worker")
        return await super().__aenter__()

    async def _close(self) -> None:
        await within(_CLOSE_PATIENCE, self._system_link.close())
        await super()._close()
