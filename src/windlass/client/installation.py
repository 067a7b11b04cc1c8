"""What a client does with the installation: gates, tenants, queues, nodes and its health."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from windlass.client.core import Core, TenantName, as_count, as_id, optional_moment
from windlass.client.effects import Operation, asking
from windlass.db import rpc_client, rpc_operator
from windlass.model import Gate, Node, Page, Queue, Tenant, Unserved, check_slug

__all__ = ["InstallationOperations"]


class InstallationOperations(Core):
    """Here a tenant that is not given means all of them."""

    def _tenant_or_all(self, given: TenantName | None) -> Operation[UUID | None]:
        if given is None:
            return None
        return (yield from self._tenant(given))

    def set_gate(
        self,
        *,
        tenant: TenantName | None = None,
        queue: str | None = None,
        kind: str | None = None,
        node: str | None = None,
        reason: str | None = None,
        actor: str | None = None,
        expires_at: datetime | None = None,
        release: bool = False,
        everything: bool = False,
    ) -> Operation[UUID]:
        """Hold every claim that matches all parts given, or `everything`.

        What runs already runs on; with `release` its handlers are stopped and the jobs wait again, uncounted.
        """
        tenant_id = yield from self._tenant_or_all(tenant)
        call = rpc_operator.set_gate(
            tenant_id,
            queue,
            kind,
            node,
            reason=reason,
            actor=self._actor(actor),
            expires_at=optional_moment(expires_at, "expires_at"),
            release=release,
            everything=everything,
        )
        return (yield from self._safely(call))

    def clear_gate(
        self,
        gate: UUID | str | None = None,
        *,
        tenant: TenantName | None = None,
        queue: str | None = None,
        kind: str | None = None,
        node: str | None = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Operation[UUID]:
        """Remove one gate, by its id or by exactly its scope; NotFound if there is none."""
        tenant_id = yield from self._tenant_or_all(tenant)
        call = rpc_operator.clear_gate(
            None if gate is None else as_id(gate, "gate"),
            tenant_id,
            queue,
            kind,
            node,
            reason=reason,
            actor=self._actor(actor),
        )
        return (yield from asking(call))

    def list_gates(self, *, tenant: TenantName | None = None) -> Operation[list[Gate]]:
        """The gates that hold now: all, or those that hold something of one tenant."""
        tenant_id = yield from self._tenant_or_all(tenant)
        return (yield from self._safely(rpc_operator.list_gates(tenant_id)))

    def create_tenant(
        self, slug: str, name: str | None = None, *, reason: str | None = None, actor: str | None = None
    ) -> Operation[UUID]:
        """Create a tenant; the same slug and name again give the same one."""
        call = rpc_operator.create_tenant(check_slug(slug), name, reason, self._actor(actor))
        return (yield from self._safely(call))

    def find_tenant(self, slug: str) -> Operation[UUID]:
        """The id of the tenant with this slug; NotFound if there is none."""
        return (yield from self._safely(rpc_client.tenant_id(check_slug(slug))))

    def list_tenants(self, *, limit: int = 100, cursor: str | None = None) -> Operation[Page[Tenant]]:
        """Tenants by slug, with their load."""
        return (yield from self._safely(rpc_operator.list_tenants(as_count(limit), cursor)))

    def bind_role(
        self, role: str, tenant: TenantName, *, reason: str | None = None, actor: str | None = None
    ) -> Operation[None]:
        """Bind a database role to one tenant: from then on it cannot name another."""
        tenant_id = yield from self._tenant(tenant)
        return (yield from self._safely(rpc_operator.bind_role(role, tenant_id, reason, self._actor(actor))))

    def unbind_role(
        self, role: str, *, reason: str | None = None, actor: str | None = None
    ) -> Operation[UUID]:
        """Let a database role name any tenant again; returns the one to which it was bound."""
        return (yield from asking(rpc_operator.unbind_role(role, reason, self._actor(actor))))

    def set_tenant(
        self, tenant: TenantName, *, weight: int, reason: str | None = None, actor: str | None = None
    ) -> Operation[None]:
        """Give a tenant another weight: so many jobs it gets each time that it is its turn."""
        tenant_id = yield from self._tenant(tenant)
        call = rpc_operator.set_tenant(tenant_id, weight, reason, self._actor(actor))
        return (yield from self._safely(call))

    def set_queue(
        self,
        queue: str,
        mode: str | None = None,
        *,
        ageing_seconds: float | None = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Operation[None]:
        """Say how tenants share a queue: `fair` (they take turns) or `strict` (priority alone decides).

        With `ageing_seconds` a line's priority rises by one for each such time that its first job has waited;
        0 turns that off.  What is None stays as it is.
        """
        call = rpc_operator.set_queue(queue, mode, ageing_seconds, reason, self._actor(actor))
        return (yield from self._safely(call))

    def list_queues(self, *, tenant: TenantName | None = None) -> Operation[list[Queue]]:
        """Queues with their load: of all tenants, or of one."""
        tenant_id = yield from self._tenant_or_all(tenant)
        return (yield from self._safely(rpc_operator.list_queues(tenant_id)))

    def list_unserved(
        self, *, tenant: TenantName | None = None, queue: str | None = None, kind: str | None = None
    ) -> Operation[list[Unserved]]:
        """Queues and kinds of which jobs wait and that no active node takes; what waits most comes first."""
        tenant_id = yield from self._tenant_or_all(tenant)
        return (yield from self._safely(rpc_operator.list_unserved(tenant_id, queue, kind)))

    def list_nodes(self, *, stopped: bool = False) -> Operation[list[Node]]:
        """Nodes, the active ones first; those that were stopped only if asked for."""
        return (yield from self._safely(rpc_operator.list_nodes(stopped=stopped)))

    def health(self) -> Operation[Mapping[str, Any]]:
        """What a doctor asks about the server, as far as the role may see it."""
        return (yield from self._safely(rpc_operator.health()))
