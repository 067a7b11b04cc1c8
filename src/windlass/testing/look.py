"""What is in the database, as a test wants to ask."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from windlass.app import Enqueuer, Windlass
from windlass.client import TenantName
from windlass.model import Job
from windlass.model.names import plural

__all__ = ["assert_enqueued", "assert_not_enqueued", "jobs"]

Kind: TypeAlias = str | Enqueuer[..., Any]

_SHOWN_JOBS = 20


def jobs(
    app: Windlass,
    kind: Kind | None = None,
    payload: Any = None,
    *,
    states: str | Iterable[str] | None = None,
    queue: str | None = None,
    key: str | None = None,
    tenant: TenantName | None = None,
    connection: object = None,
) -> list[Job]:
    """The jobs that fit, in the order in which they were enqueued.

    `payload` need only say the part that matters.  `connection` is for a transaction that is still open,
    whose jobs nobody else can see.  It blocks for a moment, in asynchronous tests too.
    """
    client = app.sync if connection is None else app.sync.using(connection)
    found = client.iterate_jobs(states=states, queues=queue, kinds=_name(kind), tenant=tenant)
    fitting = [
        job
        for job in found
        if (key is None or job.idempotency_key == key) and (payload is None or _fits(payload, job.payload))
    ]
    return sorted(fitting, key=lambda job: (job.created_at, job.id))


def assert_enqueued(
    app: Windlass,
    kind: Kind,
    payload: Any = None,
    *,
    count: int | None = None,
    states: str | Iterable[str] | None = None,
    queue: str | None = None,
    key: str | None = None,
    tenant: TenantName | None = None,
    connection: object = None,
) -> Job:
    """Fail unless a job that fits was enqueued, or exactly `count` of them; returns the latest."""
    where: dict[str, Any] = {"tenant": tenant, "connection": connection}
    found = jobs(app, kind, payload, states=states, queue=queue, key=key, **where)
    if not found or (count is not None and len(found) != count):
        wanted = "a job" if count is None else plural(count, "job")
        raise AssertionError(_complaint(app, wanted, kind, payload, len(found), where))
    return found[-1]


def assert_not_enqueued(
    app: Windlass,
    kind: Kind,
    payload: Any = None,
    *,
    states: str | Iterable[str] | None = None,
    queue: str | None = None,
    key: str | None = None,
    tenant: TenantName | None = None,
    connection: object = None,
) -> None:
    """Fail if a job that fits was enqueued."""
    where: dict[str, Any] = {"tenant": tenant, "connection": connection}
    if found := jobs(app, kind, payload, states=states, queue=queue, key=key, **where):
        raise AssertionError(_complaint(app, "no job", kind, payload, len(found), where))


def _name(kind: Kind | None) -> str | None:
    return kind if kind is None or isinstance(kind, str) else kind.definition.kind


def _fits(wanted: Any, there: Any) -> bool:
    """Whether everything that is wanted is there; objects may have more fields, lists may not be longer."""
    if isinstance(wanted, Mapping) and isinstance(there, Mapping):
        return all(name in there and _fits(value, there[name]) for name, value in wanted.items())
    if isinstance(wanted, list | tuple) and isinstance(there, list):
        return len(wanted) == len(there) and all(map(_fits, wanted, there))
    return bool(wanted == there)


def _complaint(
    app: Windlass, wanted: str, kind: Kind, payload: Any, found: int, where: Mapping[str, Any]
) -> str:
    """What was wanted, and all that is there instead: mostly one look says what went wrong."""
    there = jobs(app, **where)
    shown = [f"  {job.kind} {job.payload!r} ({job.shown_state}, queue {job.queue})" for job in there]
    if len(shown) > _SHOWN_JOBS:
        shown[_SHOWN_JOBS:] = [f"  and {len(shown) - _SHOWN_JOBS} more"]
    content = "" if payload is None else f" with {payload!r}"
    rest = "\n".join(["the jobs there:", *shown]) if shown else "there are no jobs"
    return f"expected {wanted} of kind {_name(kind)!r}{content}, found {found}; {rest}"
