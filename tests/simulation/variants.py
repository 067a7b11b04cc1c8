"""Cores with one guard taken out each, and the rule that must find them out."""

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from tests.simulation.core import Core
from tests.simulation.values import COUNTLESS, Gate, Job, Lease, Said
from tests.simulation.wire import LEASE

__all__ = ["OUT_OF_ORDER", "VARIANTS"]


class NoTokenCheck(Core):
    def _held(self, token: Any, job_id: Any) -> Lease | None:
        return self.lease_on(self.jobs[job_id])


class RenewalWithoutToken(Core):
    def _lease_of(self, token: Any) -> Lease | None:
        ended = [job for job in self.jobs.values() if any(a.token == token for a in job.attempts)]
        return self.leases.get(token) or next(filter(None, map(self.lease_on, ended)), None)


class ExpiryIgnoresRenewal(Core):
    def _overdue(self, held: Lease) -> bool:
        return held.claimed_at + LEASE < self.now


class ExpiryDoesNotCount(Core):
    def _counts(self, outcome: str) -> bool:
        return outcome not in COUNTLESS and outcome != "crashed"


class NoCap(Core):
    def _ends(self, job: Job, outcome: str, counted: int) -> str | None:
        return super()._ends(job, outcome, 0)


class ClaimLeavesTheRow(Core):
    def _leave_ready(self, job: Job) -> None:
        pass


class RetryBeatsCancel(Core):
    def _ends(self, job: Job, outcome: str, counted: int) -> str | None:
        job.cancel_requested = False
        return super()._ends(job, outcome, counted)


class TooEarly(Core):
    def _is_due(self, due: int) -> bool:
        return due <= self.now + 2_000


class RedriveOfSuccess(Core):
    def _is_dead(self, job: Job) -> bool:
        return self.state(job) in ("dead", "succeeded")


class NobodyExpires(Core):
    def expire(self) -> list[tuple[Any, str]]:
        return []


class UnbegunIsGivenUp(Core):
    def _abandoned(self, held: Lease, job_id: Any) -> Said:
        return super()._abandoned(held, job_id)._replace(outcome="crashed", doubt=False)


class NoGates(Core):
    def _gates_on(self, tenant: Any, queue: str, kind: str, node: str) -> list[Gate]:
        return []


class KeysForgotten(Core):
    def _holder(self, job: Job, scope: str) -> Job | None:
        return self.jobs.get(job.id)


class NotKept(Core):
    """Says yes to each seventh job, and forgets it."""

    def enqueue(self, job: Job, scope: str = "forever") -> tuple[Any, bool]:
        answer = super().enqueue(job, scope)
        if job.id % 7 == 0 and answer == (job.id, True):
            self._leave_line(job)
            del self.jobs[job.id]
            self.keys = {key: holder for key, holder in self.keys.items() if holder is not job}
        return answer


class LostOnTheWay(Core):
    """Some who are due leave one line and do not come to the other."""

    def promote(self) -> None:
        for job_id in [one for one, due in self.scheduled.items() if due <= self.now and one % 5 == 0]:
            del self.scheduled[job_id]
        super().promote()


class OneToken(Core):
    def __init__(self) -> None:
        super().__init__(tokens=repeat(1))


class SuccessDropsTheLease(Core):
    """With all jobs that are still open in it."""

    def complete(
        self,
        words: Sequence[tuple[Any, Any]],
        states: Sequence[str],
        results: Sequence[Any],
        tenants: Sequence[Any] | None = None,
    ) -> list[tuple[Any, str]]:
        refused = super().complete(words, states, results, tenants)
        for token, _ in words:
            self.leases.pop(token, None)
        return refused


class SuccessStaysInLine(Core):
    def _write(
        self, held: Lease, job_id: Any, outcome: str, ends: str | None, result: Any = None, error: Any = None
    ) -> None:
        super()._write(held, job_id, outcome, ends, result, error)
        if outcome == "succeeded" and job_id % 5 == 0:
            self._stand(self.jobs[job_id], None)


class NoAttemptKey(Core):
    """Nobody asks whether an attempt has ended already, while its lease is there for others."""

    def _held(self, token: Any, job_id: Any) -> Lease | None:
        held = self.leases.get(token)
        return held if held is not None and job_id in held.jobs else None


class WrongTenant(Core):
    def enqueue(self, job: Job, scope: str = "forever") -> tuple[Any, bool]:
        job.tenant = 3 - job.tenant if job.id % 7 == 0 else job.tenant
        return super().enqueue(job, scope)


class LastInFirstOut(Core):
    """Breaks no rule of the checker; PostgreSQL does otherwise."""

    def line(self, node: str, queue: str, kinds: Sequence[str] | None, tenant: Any = None) -> list[Job]:
        found = super().line(node, queue, kinds, tenant)
        return sorted(found, key=lambda job: (-job.priority, -(job.seq or 0)))


OUT_OF_ORDER = LastInFirstOut
VARIANTS: dict[type[Core], str] = {
    NoTokenCheck: "without its token",
    RenewalWithoutToken: "without its token",
    ExpiryIgnoresRenewal: "unjustified duplicates",
    ExpiryDoesNotCount: "attempts over the cap",
    NoCap: "attempts over the cap",
    ClaimLeavesTheRow: "overlapping leases",
    RetryBeatsCancel: "went on",
    TooEarly: "early starts",
    RedriveOfSuccess: "not dead",
    NobodyExpires: "stranded",
    UnbegunIsGivenUp: "never begun",
    NoGates: "through a gate",
    KeysForgotten: "key twice",
    NotKept: "lost",
    LostOnTheWay: "stranded",
    OneToken: "overlapping leases",
    SuccessDropsTheLease: "stranded",
    SuccessStaysInLine: "double-accepted",
    NoAttemptKey: "unexpected",
    WrongTenant: "cross-tenant rows",
}
