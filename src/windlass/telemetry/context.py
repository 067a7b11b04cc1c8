"""The job that is running here, so that every line logged by its handler carries its fields."""

import logging
from collections.abc import MutableMapping
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any
from uuid import UUID

from windlass.model import ClaimedJob

JOB_FIELDS = ("worker_id", "trace_id", "job_id", "kind", "tenant_id", "attempt")

_node: ContextVar[str | None] = ContextVar("windlass_node", default=None)
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


def mark_node(node_id: UUID) -> None:
    """Say once, in the context from which those of its jobs are copied, which node runs them."""
    _node.set(str(node_id))


def current_job() -> ClaimedJob | None:
    """The job that runs in this context, if one does."""
    marked = _running.get()
    return marked[1] if marked else None


def job_fields() -> dict[str, Any]:
    """The running job's log fields; none outside of a job."""
    marked = _running.get()
    if marked is None:
        return {}
    return fields_of(*marked)


def fields_of(worker_id: str, job: ClaimedJob) -> dict[str, Any]:
    """The log fields of a job; with the id of its node, which attempts are recorded by, where it is known."""
    fields: dict[str, Any] = {
        "worker_id": worker_id,
        "trace_id": job.trace_id,
        "job_id": job.id_text,
        "kind": job.kind,
        "tenant_id": job.tenant_text,
        "attempt": job.version,
    }
    return fields if (node := _node.get()) is None else {**fields, "node_id": node}


class JobFields(logging.Filter):
    """Give each record the running job's fields; what the caller set in `extra` stays.

    For handlers of one's own: attach it where the record is still in the thread that made it.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in job_fields().items():
            if getattr(record, name, None) is None:
                setattr(record, name, value)
        return True


class JobLog(logging.LoggerAdapter[logging.Logger]):
    """A logger whose lines carry the fields of one job, and beside them what is given as `extra`."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        return msg, {**kwargs, "extra": {**(self.extra or {}), **(kwargs.get("extra") or {})}}
