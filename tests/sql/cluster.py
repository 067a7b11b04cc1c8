"""A cluster as its SQL functions see it: nodes by name, each taking its turn when a test says so."""

import json
from typing import Any
from uuid import UUID, uuid4

from tests.sql.operate import call, call_value
from tests.sql.steps import DEFAULT_TENANT
from tests.support import Database

KIND = "compact"
QUEUE = "windlass.cluster"
LEASE = 10.0


class Cluster:
    """Nodes that know one kind of cluster job; the first one started leads."""

    def __init__(self, db: Database, *names: str) -> None:
        self.db = db
        self.ids: dict[str, UUID] = {}
        for name in names:
            self.start(name)

    def start(self, name: str, kinds: tuple[str, ...] = (KIND,)) -> UUID:
        """Begin a life of a node; its turn makes it a member, and the leader if nobody leads."""
        self.ids[name] = uuid4()
        call(self.db, "heartbeat_node", node=self.ids[name], name=name, kinds=list(kinds))
        self.tend(name, kinds=kinds)
        return self.ids[name]

    def tend(
        self,
        name: str,
        *,
        stand: bool = True,
        kinds: tuple[str, ...] = (KIND,),
        local: tuple[str, ...] | None = None,
    ) -> Any:
        rows = call(
            self.db,
            "tend_cluster",
            node=self.ids[name],
            address=f"{name}:1",
            kinds=list(kinds),
            lease_seconds=LEASE,
            stand=stand,
            local_kinds=None if local is None else list(local),
        )
        return rows[0] if rows else None

    def tend_all(self, *but: str) -> None:
        for name in self.ids:
            if name not in but:
                self.tend(name)

    def elapse(self, seconds: float, *silent: str) -> None:
        """Let time pass, all nodes but the silent ones taking their turns."""
        left = seconds
        while left > 0:
            self.db.clock.advance(min(left, LEASE / 3))
            left -= LEASE / 3
            self.tend_all(*silent)
        self.tend_all(*silent)

    @property
    def leader(self) -> Any:
        rows = call(self.db, "get_leader")
        return rows[0] if rows else None

    def create(self, **more: Any) -> UUID:
        job_id = self.create_row(**more).job_id
        assert isinstance(job_id, UUID)
        return job_id

    def create_row(self, **more: Any) -> Any:
        leader = self.leader
        given: dict[str, Any] = {"tenant": DEFAULT_TENANT, "kind": KIND}
        if leader is not None:
            given |= {"leader": leader.node_id, "term": leader.term}
        (row,) = call(self.db, "create_cluster_job", **{**given, **more})
        return row

    def claim(self, name: str, limit: int = 10, lease: float = LEASE) -> list[Any]:
        return call(
            self.db, "claim_parts", node=self.ids[name], kinds=[KIND], limit=limit, lease_seconds=lease
        )

    def end(self, part: Any, outcome: str = "succeeded", result: Any = None, **more: Any) -> tuple[str, Any]:
        """The code and the state that came back."""
        said = {
            "tokens": [part.token],
            "jobs": [part.job_id],
            "outcomes": [outcome],
            "results": [json.dumps(result)],
            "errors": [json.dumps({"type": "Oops", "message": "it broke"}) if outcome == "failed" else None],
        }
        query = (
            "select code, state from windlass.end_parts(%(tokens)s::uuid[], %(jobs)s::uuid[],"
            " %(outcomes)s::text[], %(results)s::text[]::jsonb[], %(errors)s::text[]::jsonb[],"
            " %(delays)s::float8[])"
        )
        connection = self.db.connection()
        (row,) = connection.execute(query, {"delays": None, **said, **more}).fetchall()
        return row.code, row.state

    def do(self, name: str, outcome: str = "succeeded", **more: Any) -> str:
        """Claim the node's only waiting part and end it."""
        (part,) = self.claim(name)
        code, state = self.end(part, outcome, **more)
        assert code == "ok"
        return str(state)

    def claim_action(self, name: str) -> list[Any]:
        return call(self.db, "claim_jobs", node=self.ids[name], queues=["default", QUEUE], kinds=[KIND])

    def begin(self, held: Any) -> Any:
        (row,) = call(self.db, "begin_action", token=held.token, job=held.job_id)
        return row

    def complete(self, held: Any) -> list[Any]:
        query = "select * from windlass.complete_jobs(%s::uuid[], %s::uuid[])"
        return self.db.fetch(query, [held.token], [held.job_id])

    def act(self, name: str) -> None:
        """The leader's action, from its claim to its success."""
        (held,) = self.claim_action(name)
        self.begin(held)
        assert self.complete(held) == []

    def get(self, job_id: UUID) -> Any:
        (row,) = call(self.db, "get_cluster_job", tenant=DEFAULT_TENANT, job=job_id)
        return row

    def parts(self, job_id: UUID) -> dict[str, str]:
        return {part["node_name"]: part["state"] for part in self.get(job_id).parts}

    def state(self, job_id: UUID) -> str:
        (row,) = call(self.db, "get_job", tenant=DEFAULT_TENANT, job=job_id)
        return str(row.state)

    def stop(self, name: str) -> None:
        assert call_value(self.db, "stop_node", node=self.ids[name]) is True

    def actions(self, job_id: UUID) -> list[str]:
        """What the history tells, in order."""
        rows = call(self.db, "list_history", tenant=DEFAULT_TENANT, job=job_id)
        return [row.what for row in rows]
