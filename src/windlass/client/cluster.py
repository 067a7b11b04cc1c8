"""What a client does with a cluster: create its jobs in the leader's name, look at them, drain a node."""

import time
from collections.abc import Callable
from typing import Generic, TypeVar
from uuid import UUID

from windlass.client.core import Settled, TenantName, as_id
from windlass.client.effects import Operation, Pause
from windlass.client.enqueue import EnqueueOperations
from windlass.db import rpc_cluster
from windlass.db.rpc_cluster import Begun, Created
from windlass.db.rpc_enqueue import Enqueued
from windlass.errors import InvalidInput, NotLeader
from windlass.model.cluster import ClusterJob, Leader, NewClusterJob
from windlass.model.names import shown

__all__ = ["ClusterOperations"]

H = TypeVar("H")

_NO_LEADER_PAUSE = 0.1


class ClusterOperations(EnqueueOperations[H], Generic[H]):
    """Knows who led when it last asked; `not_leader` tells it who does now."""

    def __init__(self, settled: Settled, make_handle: Callable[[UUID, UUID, bool], H]) -> None:
        super().__init__(settled, make_handle)
        self._leader: Leader | None = None

    def get_leader(self) -> Operation[Leader | None]:
        """The node that leads now, if one does."""
        return (yield from self._safely(rpc_cluster.get_leader()))

    def create_cluster_job(self, new: NewClusterJob, *, tenant: TenantName | None = None) -> Operation[H]:
        """Create a cluster job, with a part for each node that takes part in such jobs.

        Addressed to the leader; where another one leads by now, it goes on to that one by itself.  While
        nobody leads it waits, for as long as it waits for a database that is away.
        """
        if not isinstance(new, NewClusterJob):
            raise InvalidInput(f"{shown(new)} is no cluster job: describe one with NewClusterJob(…)")
        tenant_id = yield from self._tenant(tenant)
        (job,) = yield from self._completed([new.job])
        payload = job.encode_payload(self.settled.max_payload_bytes)
        leader = self._leader
        if not self.settled.own_connection:  # a refusal would end the caller's transaction: ask first
            leader = yield from self.get_leader()
        until = time.monotonic() + self.settled.patience
        while True:
            try:
                answer: Created = yield from self._safely(
                    rpc_cluster.create_cluster_job(tenant_id, new, job, payload, leader, self.settled.actor)
                )
            except NotLeader as refusal:
                leader = _named_by(refusal)
                if not self.settled.own_connection or time.monotonic() > until:
                    raise
                if leader is None:
                    yield Pause(_NO_LEADER_PAUSE)
            else:
                self._leader = leader
                return self._handle(tenant_id, new.job, job, Enqueued(answer.job_id, answer.created))

    def get_cluster_job(
        self, job_id: UUID | str, *, tenant: TenantName | None = None
    ) -> Operation[ClusterJob]:
        """The parts, the quorum and the verdict of a cluster job; NotFound if the job is none."""
        tenant_id = yield from self._tenant(tenant)
        return (yield from self._safely(rpc_cluster.get_cluster_job(tenant_id, as_id(job_id))))

    def begin_action(self, token: UUID, job_id: UUID) -> Operation[Begun]:
        """For the leader's action, before anything else: LeaseLost or NotLeader if it must not begin."""
        return (yield from self._safely(rpc_cluster.begin_action(token, job_id)))

    def drain_node(
        self, node: UUID | str, *, reason: str | None = None, actor: str | None = None
    ) -> Operation[list[UUID]]:
        """Let the nodes of a name, or the one with an id, claim nothing new and leave when they are empty."""
        return (yield from self._safely(rpc_cluster.drain_node(str(node), reason, self._actor(actor))))


def _named_by(refusal: NotLeader) -> Leader | None:
    node_id, term = refusal.details.get("node_id"), refusal.details.get("term")
    if node_id is None or term is None:
        return None
    return Leader(
        node_id=UUID(str(node_id)),
        term=int(term),
        name=refusal.details.get("node_name"),
        address=refusal.leader,
    )
