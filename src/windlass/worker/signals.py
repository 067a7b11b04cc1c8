"""What a worker tells about itself: every signal about a job carries the same fields."""

import logging
from typing import Any
from uuid import UUID

from windlass.errors import WindlassError
from windlass.model import ClaimedJob
from windlass.telemetry import Telemetry, log_signals

__all__ = ["Signals"]

_LOGGER = "windlass.worker"


class Signals:
    """Speaks to the telemetry it is given; without one, to the log, and only of what the log would show."""

    def __init__(
        self, telemetry: Telemetry | None = None, worker_id: str | None = None, node_id: UUID | None = None
    ) -> None:
        self._logger = logging.getLogger(_LOGGER) if telemetry is None else None
        self._telemetry = telemetry or Telemetry([log_signals(logging.getLogger(_LOGGER))])
        self._worker_id = worker_id
        self._node = {} if node_id is None else {"node_id": str(node_id)}

    def heard(self, level: int) -> bool:
        """Whether anybody would hear a signal of that level; asked before one is put together."""
        return self._telemetry.heard if self._logger is None else self._logger.isEnabledFor(level)

    def job(
        self, name: str, job: ClaimedJob, level: int, *, seconds: float | None = None, **fields: Any
    ) -> None:
        """Something happened to a job."""
        if self.heard(level):
            self._telemetry.emit(
                name,
                level=level,
                worker_id=self._worker_id,
                trace_id=job.trace_id,
                job_id=job.id_text,
                kind=job.kind,
                tenant_id=job.tenant_text,
                attempt=job.version,
                duration_ms=None if seconds is None else round(seconds * 1000, 3),
                queue=job.queue,
                **self._node,
                **fields,
            )

    def worker(self, name: str, level: int = logging.INFO, **fields: Any) -> None:
        """Something happened to the worker, or to a service beside it."""
        if self.heard(level):
            self._telemetry.emit(name, level=level, worker_id=self._worker_id, **self._node, **fields)

    def failing(self, what: str, error: WindlassError) -> None:
        """`what` cannot get through to the database; it goes on trying."""
        hint = {"hint": error.details["hint"]} if "hint" in error.details else {}
        self.worker(
            "database.unavailable",
            logging.WARNING,
            message=f"{what}: {error.message}; trying again",
            code=error.code,
            **hint,
        )

    def recovered(self, what: str) -> None:
        self.worker("database.back", message=f"{what}: the database answers again")

    def fault(self, what: str, error: BaseException) -> None:
        """An error that nobody foresaw: ours, not the job's."""
        self.worker("worker.fault", logging.ERROR, message=f"{what} failed", exception=error)
