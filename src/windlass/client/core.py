"""What every operation of a client stands on: which tenant is meant, and how often to ask."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

from windlass.client.effects import Effect, Operation, repeating
from windlass.db import rpc_client, rpc_operator
from windlass.db.call import Call
from windlass.errors import InvalidInput
from windlass.model import MAX_PAYLOAD_BYTES, check_moment, check_slug
from windlass.model.names import as_list, shown
from windlass.telemetry import current_job

__all__ = [
    "DEFAULT_TENANT",
    "Core",
    "Settled",
    "TenantName",
    "as_count",
    "as_id",
    "as_names",
    "optional_moment",
]

T = TypeVar("T")
TenantName: TypeAlias = str | UUID

DEFAULT_TENANT = UUID("00000000-0000-7000-8000-000000000001")
"""The tenant of those who need no tenants has the same id everywhere."""
_WELL_KNOWN = {"default": DEFAULT_TENANT}
_HOME = ""  # among the slugs, where it cannot be one


@dataclass(frozen=True, slots=True)
class Settled:
    """What is settled when a client is made."""

    tenant: TenantName | None = "default"
    """None: the one that the login is bound to, else the default one."""
    actor: str | None = None
    """The name under which actions are recorded; None is the login role."""
    patience: float = 30.0
    """For how many seconds a call is repeated while the database is not there; 0 is never."""
    max_payload_bytes: int = MAX_PAYLOAD_BYTES
    own_connection: bool = True
    """False on a caller's connection, where nothing is repeated and nothing is split."""
    decode_result: Callable[[str, Any], Any] | None = None
    """Given a kind and a stored result, what a waiter gets."""
    checks_tenants: bool = False
    """Ask whether there is a tenant that is named by its id: a reader of nobody's jobs just finds none."""
    tenants: dict[str, UUID] = field(default_factory=lambda: dict(_WELL_KNOWN))
    """The ids behind the slugs that were used so far, and the ids that were checked."""


class Core:
    """Shared by the operations on jobs and those on the installation."""

    def __init__(self, settled: Settled) -> None:
        self.settled = settled

    def _safely(self, call: Call[T], *, until: float | None = None) -> Operation[T]:
        """A call that may be said twice, but not after the moment `until`."""
        answer: T = yield from self._safely_any(call, until=until)
        return answer

    def _safely_any(self, effect: Effect, *, until: float | None = None) -> Operation[Any]:
        patience = self.settled.patience if self.settled.own_connection else 0.0
        return repeating(effect, patience if until is None else min(patience, until - time.monotonic()))

    def _tenant(self, given: TenantName | None) -> Operation[UUID]:
        """The id of the tenant meant: the one given, else that of the job running here, else the client's."""
        running = current_job()
        if given is None and running is not None:
            return running.tenant_id
        name = self.settled.tenant if given is None else given
        if name is None:
            return (yield from self._home())
        if not isinstance(name, str | UUID):
            raise InvalidInput(f"a tenant is named by its slug or its id, not by {shown(name)}")
        found = name if isinstance(name, UUID) else _as_uuid(name)
        if found is not None:
            if self.settled.checks_tenants and str(found) not in self.settled.tenants:
                yield from self._safely(rpc_client.tenant_slug(found))
                self.settled.tenants[str(found)] = found
            return found
        found = self.settled.tenants.get(str(name))
        if found is None:
            slug = check_slug(str(name))
            found = yield from self._safely(rpc_client.tenant_id(slug))
            self.settled.tenants[slug] = found
        return found

    def _home(self) -> Operation[UUID]:
        """The tenant of somebody who named none anywhere: that of our login, if it is bound; asked for once.

        A caller's connection may have another login, and costs no statement that its owner did not ask for:
        there it is the default, and a login that is bound elsewhere is refused until it names its tenant.
        """
        if not self.settled.own_connection:
            return DEFAULT_TENANT
        found = self.settled.tenants.get(_HOME)
        if found is None:
            bound = yield from self._safely(rpc_operator.bound_tenant())
            found = self.settled.tenants[_HOME] = bound or DEFAULT_TENANT
        return found

    def _forget_tenant(self, given: TenantName | None) -> None:
        """A slug whose id turned out to be unknown: its tenant was made in a transaction that failed."""
        name = self.settled.tenant if given is None else given
        if isinstance(name, str) and name not in _WELL_KNOWN:
            self.settled.tenants.pop(name, None)

    def _actor(self, given: str | None) -> str | None:
        return self.settled.actor if given is None else given


def as_id(value: UUID | str, what: str = "job") -> UUID:
    """`value` as an id; InvalidInput if it is none."""
    found = value if isinstance(value, UUID) else _as_uuid(value)
    if found is None:
        raise InvalidInput(f"{shown(value)} is not the id of a {what}")
    return found


def as_count(value: object, what: str = "limit") -> int:
    """`value` itself, if something can be counted with it; what it may be at most, the database says."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"the {what} is a whole number, not {shown(value)}")
    return value


def as_names(given: str | Iterable[str] | None) -> list[str] | None:
    """A filter by name: one name, several, or None for no filter."""
    if given is None:
        return None
    return [str(name) for name in ([given] if isinstance(given, str) else as_list(given, "names"))]


def optional_moment(given: datetime | None, what: str) -> datetime | None:
    return None if given is None else check_moment(given, what)


def _as_uuid(value: object) -> UUID | None:
    """Only the spelling with hyphens: anything shorter may be somebody's slug."""
    if not isinstance(value, str) or len(value) != 36:
        return None
    try:
        return UUID(value)
    except ValueError:
        return None
