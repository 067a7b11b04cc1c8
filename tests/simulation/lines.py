"""Where jobs wait: the half of the simulated database that knows of lines, keys and gates."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from tests.simulation.values import TERMINAL, Gate, Job, Lease, Refused

__all__ = ["Lines"]


class Lines:
    """All jobs of one database, those who wait in line, and the gates that hold them."""

    def __init__(self, now: int = 0, tokens: Iterator[Any] | None = None) -> None:
        self.now = now
        self.jobs: dict[Any, Job] = {}
        self.ready: dict[int, Job] = {}
        """By the place in line, which only rises: the order of the dictionary is that of the line."""
        self.scheduled: dict[Any, int] = {}
        self.leases: dict[Any, Lease] = {}
        self.keys: dict[tuple[Any, str, str], Job] = {}
        self.gates: dict[tuple[Any, ...], Gate] = {}
        self.notes: list[tuple[Any, ...]] = []
        """What was written, as triggers would see it; whoever wants it takes it away."""
        self._places = count(1)
        self._tokens = tokens or count(1)

    def of(self, *states: str) -> list[Job]:
        return [job for job in self.jobs.values() if self.state(job) in states]

    def state(self, job: Job) -> str:
        if job.seq in self.ready or job.id in self.scheduled:
            return "queued"
        if job.ended is not None:
            return job.ended
        last = job.attempts[-1].ends if job.attempts else None
        return last or "running"

    # Enqueue

    def enqueue(self, job: Job, scope: str = "forever") -> tuple[Any, bool]:
        """The job that is there now, and whether it is this one."""
        holder = self.jobs.get(job.id) or (None if job.key is None else self._holder(job, scope))
        if holder is not None:
            same = (holder.payload, holder.kind) == (job.payload, job.kind)
            if not same or (holder.id == job.id and holder.key != job.key):
                raise Refused("WL002")
            return holder.id, False
        job.created_at = self.now
        self.jobs[job.id] = job
        if job.key is not None:
            self.keys[job.tenant, job.kind, job.key] = job
        self._stand(job, job.run_at)
        self.notes.append(("job", job, scope))
        return job.id, True

    def _holder(self, job: Job, scope: str) -> Job | None:
        holder = self.keys.get((job.tenant, job.kind, job.key or ""))
        if holder is None or scope != "active":
            return holder
        return None if self.state(holder) in TERMINAL else holder

    def _stand(self, job: Job, due: int | None) -> None:
        """At the end of the line, or where one waits for one's time."""
        if due is None or self._is_due(due):
            job.seq = next(self._places)
            self.ready[job.seq] = job
        else:
            job.seq = None
            self.scheduled[job.id] = due

    def _is_due(self, due: int) -> bool:
        return due <= self.now

    def promote(self) -> None:
        """Put what is due into line, whatever the claim is for."""
        due = [(at, job_id) for job_id, at in self.scheduled.items() if self._is_due(at)]
        for _, job_id in sorted(due):
            del self.scheduled[job_id]
            self._stand(self.jobs[job_id], None)

    def line(self, node: str, queue: str, kinds: Sequence[str] | None, tenant: Any = None) -> list[Job]:
        """Who may be claimed, in this order."""
        found = [
            job
            for job in self.ready.values()
            if job.queue == queue
            and (kinds is None or job.kind in kinds)
            and (tenant is None or job.tenant == tenant)
            and not self._gates_on(job.tenant, queue, job.kind, node)
        ]
        return sorted(found, key=lambda job: -job.priority)

    def take(
        self,
        node: str,
        jobs: Sequence[Job],
        lease: int,
        tokens: Sequence[Any] | None = None,
        begins: bool = False,
    ) -> list[tuple[Any, ...]]:
        """One lease for each lane; or as the tokens say: whoever shares out may come to a lane twice."""
        given: dict[Any, Lease] = {}
        rows = []
        for place, job in enumerate(jobs):
            which = job.lane if tokens is None else tokens[place]
            if which not in given:
                token = next(self._tokens) if tokens is None else which
                given[which] = Lease(token, job.lane, node, self.now, self.now + lease)
                given[which].begins = set() if begins else None
                self.leases[token] = given[which]
            held, token = given[which], given[which].token
            assert held.lane == job.lane, "a token for two lanes"
            self._leave_ready(job)
            job.version += 1
            held.jobs[job.id] = (job.version, job.counted)
            held.open += 1
            self.notes.append(("grant", token, job, job.version, held.expires_at))
            rows.append((job.id, token, job.version, job.counted, job.payload, job.priority, held.expires_at))
        return rows

    def _leave_ready(self, job: Job) -> None:
        self.ready.pop(job.seq or 0, None)
        job.seq = None

    def _leave_line(self, job: Job) -> bool:
        """Whether it stood in one."""
        return self.ready.pop(job.seq or 0, None) is not None or self.scheduled.pop(job.id, None) is not None

    # Gates

    def set_gate(
        self,
        tenant: Any,
        queue: str | None,
        kind: str | None,
        node: str | None,
        until: int | None,
        releases: bool,
    ) -> None:
        if until is not None and until <= self.now:
            raise Refused("WL007")
        self.gates[tenant, queue, kind, node] = Gate(until, releases)

    def clear_gate(self, tenant: Any, queue: str | None, kind: str | None, node: str | None) -> None:
        if self.gates.pop((tenant, queue, kind, node), None) is None:
            raise Refused("WL001")

    def _gates_on(self, tenant: Any, queue: str, kind: str, node: str) -> list[Gate]:
        lane = (tenant, queue, kind, node)
        return [
            gate
            for scope, gate in self.gates.items()
            if (gate.until is None or gate.until > self.now)
            and all(one is None or one == other for one, other in zip(scope, lane, strict=True))
        ]
