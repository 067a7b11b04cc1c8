"""Whether any active node takes a queue and a kind, and what to start if none does."""

from typing import NamedTuple
from uuid import UUID

from windlass.client import SyncClient
from windlass.errors import WindlassError
from windlass.model import Unserved

__all__ = ["Served", "is_served", "what_is_missing", "what_to_start"]


class Served(NamedTuple):
    """The answer for one job; `yes` is None where the role may not ask."""

    yes: bool | None
    hint: str | None = None


def is_served(client: SyncClient, tenant: UUID, queue: str, kind: str) -> Served:
    """Whether a job that waits there is anybody's to take.  A remark beside the answer, so never an error."""
    try:
        found = client.list_unserved(tenant=tenant, queue=queue, kind=kind)
    except WindlassError:
        return Served(None)
    if not found:
        return Served(yes=True)
    return Served(yes=False, hint=f"{what_is_missing(found[0])}: {what_to_start(found[0])}")


def what_is_missing(found: Unserved) -> str:
    if found.kind_known:
        return (
            f"the active nodes that know the kind {found.kind!r} take nothing from the queue {found.queue!r}"
        )
    return f"no active node knows the kind {found.kind!r}"


def what_to_start(found: Unserved) -> str:
    return f"start one with `windlass worker MODULE:APP --queues {found.queue}`"
