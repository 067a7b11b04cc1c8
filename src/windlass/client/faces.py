"""The two faces of a client: one to await, one that blocks.  What they do is written once, elsewhere."""

import copy
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, Generic, Self, TypeVar
from uuid import UUID

from windlass.client.audit import AuditOperations
from windlass.client.carriers import AsyncForeignCarrier, AsyncPoolCarrier, ForeignCarrier, PoolCarrier
from windlass.client.cluster import ClusterOperations
from windlass.client.core import Settled, TenantName
from windlass.client.costs import CostOperations
from windlass.client.effects import (
    Operation,
    asynchronous,
    iterating,
    iterating_async,
    run_effects,
    run_effects_async,
    synchronous,
)
from windlass.client.handle import JobHandle, SyncJobHandle
from windlass.client.jobs import JobOperations
from windlass.client.limits import LimitOperations
from windlass.client.redrive import RedriveOperations
from windlass.model import Job
from windlass.model.redrive import Preview
from windlass.settings import Settings

__all__ = ["AsyncClient", "SyncClient"]

H = TypeVar("H")
T = TypeVar("T")

PATIENCE_SECONDS = 30.0
POOL_SIZE = 4


class Operations(
    ClusterOperations[H],
    JobOperations,
    RedriveOperations,
    CostOperations,
    LimitOperations,
    AuditOperations,
    Generic[H],
):
    """Everything that a client can do."""


_AsyncClient = Operations[JobHandle[Any]]


class AsyncClient:
    """For code on an event loop.  Its pool opens when it is first used; `async with` closes it."""

    def __init__(
        self,
        settings: Settings,
        *,
        tenant: TenantName | None = None,
        actor: str | None = None,
        patience: float = PATIENCE_SECONDS,
        pool_size: int = POOL_SIZE,
        decode_result: Callable[[str, Any], Any] | None = None,
    ) -> None:
        settled = _settle(settings, tenant, actor, patience, decode_result)
        self._carrier: AsyncPoolCarrier | AsyncForeignCarrier = AsyncPoolCarrier(
            settings, size=pool_size, patience=patience
        )
        self._operations: Operations[JobHandle[Any]] = Operations(settled, self._make_handle)

    def using(self, connection: object) -> Self:
        """This client on a connection of the caller's, inside the transaction open on it.

        Nothing is repeated there, and a rollback takes back whatever was done.
        """
        other = copy.copy(self)
        other._carrier = AsyncForeignCarrier(connection)
        settled = replace(self._operations.settled, own_connection=False)
        other._operations = Operations(settled, self._make_handle)
        return other

    async def _run(self, operation: Operation[T]) -> T:
        return await run_effects_async(operation, self._carrier)

    def _make_handle(self, job_id: UUID, tenant_id: UUID, created: bool) -> JobHandle[Any]:
        return JobHandle(self._operations, self._run, job_id, tenant_id, created)

    async def close(self) -> None:
        """Close its connections; used again, it opens new ones."""
        await self._carrier.close()

    async def __aenter__(self) -> Self:
        await self._carrier.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    enqueue = asynchronous(_AsyncClient.enqueue)
    enqueue_job = asynchronous(_AsyncClient.enqueue_job)
    enqueue_jobs = asynchronous(_AsyncClient.enqueue_jobs)
    enqueue_fitting = asynchronous(_AsyncClient.enqueue_fitting)
    enqueue_many = asynchronous(_AsyncClient.enqueue_many)
    handle = asynchronous(_AsyncClient.handle)
    wait_job = asynchronous(_AsyncClient.wait_job)
    get_job = asynchronous(_AsyncClient.get_job)
    explain_job = asynchronous(_AsyncClient.explain_job)
    list_jobs = asynchronous(_AsyncClient.list_jobs)
    list_attempts = asynchronous(_AsyncClient.list_attempts)
    list_history = asynchronous(_AsyncClient.list_history)
    iterate_jobs = iterating_async(_AsyncClient.iterate_jobs, Job)
    cancel_job = asynchronous(_AsyncClient.cancel_job)
    reschedule_job = asynchronous(_AsyncClient.reschedule_job)
    redrive_jobs = asynchronous(_AsyncClient.redrive_jobs)
    create_redrive = asynchronous(_AsyncClient.create_redrive)
    preview_redrive = asynchronous(_AsyncClient.preview_redrive)
    iterate_preview = iterating_async(_AsyncClient.iterate_preview, Preview)
    get_redrive = asynchronous(_AsyncClient.get_redrive)
    list_redrives = asynchronous(_AsyncClient.list_redrives)
    stop_redrive = asynchronous(_AsyncClient.stop_redrive)
    set_gate = asynchronous(_AsyncClient.set_gate)
    clear_gate = asynchronous(_AsyncClient.clear_gate)
    list_gates = asynchronous(_AsyncClient.list_gates)
    set_limit = asynchronous(_AsyncClient.set_limit)
    clear_limit = asynchronous(_AsyncClient.clear_limit)
    list_limits = asynchronous(_AsyncClient.list_limits)
    create_tenant = asynchronous(_AsyncClient.create_tenant)
    find_tenant = asynchronous(_AsyncClient.find_tenant)
    list_tenants = asynchronous(_AsyncClient.list_tenants)
    bind_role = asynchronous(_AsyncClient.bind_role)
    unbind_role = asynchronous(_AsyncClient.unbind_role)
    set_queue = asynchronous(_AsyncClient.set_queue)
    set_tenant = asynchronous(_AsyncClient.set_tenant)
    list_queues = asynchronous(_AsyncClient.list_queues)
    list_unserved = asynchronous(_AsyncClient.list_unserved)
    list_nodes = asynchronous(_AsyncClient.list_nodes)
    list_events = asynchronous(_AsyncClient.list_events)
    verify_audit = asynchronous(_AsyncClient.verify_audit)
    list_costs = asynchronous(_AsyncClient.list_costs)
    list_job_costs = asynchronous(_AsyncClient.list_job_costs)
    health = asynchronous(_AsyncClient.health)
    create_cluster_job = asynchronous(_AsyncClient.create_cluster_job)
    get_cluster_job = asynchronous(_AsyncClient.get_cluster_job)
    get_leader = asynchronous(_AsyncClient.get_leader)
    begin_action = asynchronous(_AsyncClient.begin_action)
    drain_node = asynchronous(_AsyncClient.drain_node)


_SyncClient = Operations[SyncJobHandle[Any]]


class SyncClient:
    """For blocking code and threads.  Its pool opens when it is first used; `with` closes it."""

    def __init__(
        self,
        settings: Settings,
        *,
        tenant: TenantName | None = None,
        actor: str | None = None,
        patience: float = PATIENCE_SECONDS,
        pool_size: int = POOL_SIZE,
        decode_result: Callable[[str, Any], Any] | None = None,
        checks_tenants: bool = False,
    ) -> None:
        settled = _settle(settings, tenant, actor, patience, decode_result)
        settled = replace(settled, checks_tenants=checks_tenants)
        self._carrier: PoolCarrier | ForeignCarrier = PoolCarrier(settings, size=pool_size, patience=patience)
        self._operations: Operations[SyncJobHandle[Any]] = Operations(settled, self._make_handle)

    def using(self, connection: object) -> Self:
        """This client on a connection of the caller's, inside the transaction open on it.

        Nothing is repeated there, and a rollback takes back whatever was done.
        """
        other = copy.copy(self)
        other._carrier = ForeignCarrier(connection)
        settled = replace(self._operations.settled, own_connection=False)
        other._operations = Operations(settled, self._make_handle)
        return other

    def _run(self, operation: Operation[T]) -> T:
        return run_effects(operation, self._carrier)

    def _make_handle(self, job_id: UUID, tenant_id: UUID, created: bool) -> SyncJobHandle[Any]:
        return SyncJobHandle(self._operations, self._run, job_id, tenant_id, created)

    def close(self) -> None:
        """Close its connections; used again, it opens new ones."""
        self._carrier.close()

    def __enter__(self) -> Self:
        self._carrier.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    enqueue = synchronous(_SyncClient.enqueue)
    enqueue_job = synchronous(_SyncClient.enqueue_job)
    enqueue_jobs = synchronous(_SyncClient.enqueue_jobs)
    enqueue_fitting = synchronous(_SyncClient.enqueue_fitting)
    enqueue_many = synchronous(_SyncClient.enqueue_many)
    handle = synchronous(_SyncClient.handle)
    wait_job = synchronous(_SyncClient.wait_job)
    get_job = synchronous(_SyncClient.get_job)
    explain_job = synchronous(_SyncClient.explain_job)
    list_jobs = synchronous(_SyncClient.list_jobs)
    list_attempts = synchronous(_SyncClient.list_attempts)
    list_history = synchronous(_SyncClient.list_history)
    iterate_jobs = iterating(_SyncClient.iterate_jobs, Job)
    cancel_job = synchronous(_SyncClient.cancel_job)
    reschedule_job = synchronous(_SyncClient.reschedule_job)
    redrive_jobs = synchronous(_SyncClient.redrive_jobs)
    create_redrive = synchronous(_SyncClient.create_redrive)
    preview_redrive = synchronous(_SyncClient.preview_redrive)
    iterate_preview = iterating(_SyncClient.iterate_preview, Preview)
    get_redrive = synchronous(_SyncClient.get_redrive)
    list_redrives = synchronous(_SyncClient.list_redrives)
    stop_redrive = synchronous(_SyncClient.stop_redrive)
    set_gate = synchronous(_SyncClient.set_gate)
    clear_gate = synchronous(_SyncClient.clear_gate)
    list_gates = synchronous(_SyncClient.list_gates)
    set_limit = synchronous(_SyncClient.set_limit)
    clear_limit = synchronous(_SyncClient.clear_limit)
    list_limits = synchronous(_SyncClient.list_limits)
    create_tenant = synchronous(_SyncClient.create_tenant)
    find_tenant = synchronous(_SyncClient.find_tenant)
    list_tenants = synchronous(_SyncClient.list_tenants)
    bind_role = synchronous(_SyncClient.bind_role)
    unbind_role = synchronous(_SyncClient.unbind_role)
    set_queue = synchronous(_SyncClient.set_queue)
    set_tenant = synchronous(_SyncClient.set_tenant)
    list_queues = synchronous(_SyncClient.list_queues)
    list_unserved = synchronous(_SyncClient.list_unserved)
    list_nodes = synchronous(_SyncClient.list_nodes)
    list_events = synchronous(_SyncClient.list_events)
    verify_audit = synchronous(_SyncClient.verify_audit)
    list_costs = synchronous(_SyncClient.list_costs)
    list_job_costs = synchronous(_SyncClient.list_job_costs)
    health = synchronous(_SyncClient.health)
    create_cluster_job = synchronous(_SyncClient.create_cluster_job)
    get_cluster_job = synchronous(_SyncClient.get_cluster_job)
    get_leader = synchronous(_SyncClient.get_leader)
    begin_action = synchronous(_SyncClient.begin_action)
    drain_node = synchronous(_SyncClient.drain_node)


def _settle(
    settings: Settings,
    tenant: TenantName | None,
    actor: str | None,
    patience: float,
    decode_result: Callable[[str, Any], Any] | None,
) -> Settled:
    return Settled(
        tenant=settings.named_tenant if tenant is None else tenant,
        actor=actor,
        patience=patience,
        max_payload_bytes=settings.max_payload_bytes,
        decode_result=decode_result,
    )
