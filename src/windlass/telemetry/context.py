"""The job that is running here, so that every line logged by its handler carries its fields."""

import logging
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

from windlass.model import ClaimedJob

JOB_FIELDS = ("worker_id", "trace_id", "job_id", "kind", "tenant_id", "attempt")

_running: ContextVar[tuple[str, ClaimedJob] | None] = ContextVar("windlass_running_job", default=None)


class running_job:  # noqa: N801 - read as a verb: `with running_job(worker_id, job):`
    """Mark `job` as the one that runs in this context.

    A thread sees the mark when it is started with a copy of the context, as `asyncio.to_thread`
    does; a child process must mark it anew.
    """

    __slots__ = ("_marked", "_token")

    def __init__(self, worker_id: str, job: ClaimedJob) -> None:
        self._marked = (worker_id, job)
        self._token: Token[tuple[str, ClaimedJob] | None] | None = None

    def __enter__(self) -> ClaimedJob:
        self._token = _running.set(self._marked)
        return self._marked[1]

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            _running.reset(self._token)
            self._token = None


def mark_running(worker_id: str, job: ClaimedJob) -> None:
    """The same mark, to stay: for a context that nobody uses after the job."""
    _running.set((worker_id, job))


def current_job() -> ClaimedJob | None:
    """The job that runs in this context, if one does."""
    marked = _running.get()
    return marked[1] if marked else None


def job_fields() -> dict[str, Any]:
    """The running job's log fields; none outside of a job."""
    marked = _running.get()
    if marked is None:
        return {}
    worker_id, job = marked
    return {
        "worker_id": worker_id,
        "trace_id": job.trace_id,
        "job_id": job.id_text,
        "kind": job.kind,
        "tenant_id": job.tenant_text,
        "attempt": job.version,
    }


class JobFields(logging.Filter):
    """Give each record the running job's fields; what the caller set in `extra` stays.

    For handlers of one's own: attach it where the record is still in the thread that made it.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in job_fields().items():
            if getattr(record, name, None) is None:
                setattr(record, name, value)
        return True
