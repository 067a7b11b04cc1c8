"""The end of the demo: what was promised is held against what the database says."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from windlass.client import AsyncClient
from windlass.demo.stage import TENANTS, Record
from windlass.demo.tally import Tally
from windlass.errors import NotFound
from windlass.model import Attempt, Job, JobState, Outcome

__all__ = ["Check", "Evidence", "judge", "read_evidence"]


@dataclass(frozen=True, slots=True)
class Check:
    """One statement, and whatever contradicts it."""

    text: str
    mismatches: Sequence[object] = ()

    @property
    def passed(self) -> bool:
        return not self.mismatches


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that the database holds about the demo's jobs."""

    tally: Tally
    attempts: Mapping[UUID, Sequence[Attempt]]
    trespasses: Sequence[UUID]
    """Jobs that could be read in the name of another tenant."""

    def jobs(self, *ids: UUID | None) -> list[Job]:
        return self.tally.get(job_id for job_id in ids if job_id is not None)

    def outcomes(self, job: Job) -> list[Outcome | None]:
        return [attempt.outcome for attempt in self.attempts[job.id]]

    def count(self, outcome: Outcome, tenant: str | None = None) -> int:
        jobs = self.tally.all() if tenant is None else self.tally.jobs[tenant]
        return sum(self.outcomes(job).count(outcome) for job in jobs)


async def read_evidence(client: AsyncClient, tally: Tally) -> Evidence:
    owners = {job.id: tenant for tenant, jobs in tally.jobs.items() for job in jobs}
    found = await asyncio.gather(
        *(client.list_attempts(job_id, tenant=tenant) for job_id, tenant in owners.items())
    )
    samples = [
        (jobs[0].id, stranger)
        for tenant, jobs in tally.jobs.items()
        for stranger in TENANTS
        if stranger != tenant
    ]
    seen = await asyncio.gather(*(_can_read(client, job_id, stranger) for job_id, stranger in samples))
    trespasses = [job_id for (job_id, _), read in zip(samples, seen, strict=True) if read]
    return Evidence(tally, dict(zip(owners, found, strict=True)), trespasses)


async def _can_read(client: AsyncClient, job_id: UUID, tenant: str) -> bool:
    try:
        await client.get_job(job_id, tenant=tenant)
    except NotFound:
        return False
    return True


def judge(record: Record, evidence: Evidence) -> Iterator[Check]:
    """The checks, the most important first."""
    yield from _nothing_lost(record, evidence)
    yield from _nothing_twice(record, evidence)
    yield _killed(record, evidence)
    yield _poisoned(record, evidence)
    yield _redriven(record, evidence)
    yield Check(
        f"the gate held: none of its {len(record.gated)} jobs had begun when it was opened",
        record.past_the_gate,
    )
    yield Check("no tenant could read a job of another", evidence.trespasses)


def _nothing_lost(record: Record, evidence: Evidence) -> Iterator[Check]:
    promised = set(record.enqueued.items())
    there = {(job.id, tenant) for tenant, jobs in evidence.tally.jobs.items() for job in jobs}
    yield Check(
        f"every job is accounted for: {len(promised)} enqueued, {len(there)} found", [*promised ^ there]
    )
    states = evidence.tally.states()
    sum_of_ends = " + ".join(f"{states[state]} {state}" for state in ("succeeded", "dead", "canceled"))
    open_jobs = [job.id for job in evidence.tally.all() if not job.state.terminal]
    yield Check(f"every job has ended: {evidence.tally.ended()} = {sum_of_ends}", open_jobs)


def _nothing_twice(record: Record, evidence: Evidence) -> Iterator[Check]:
    wrong = [
        job.id
        for job in evidence.tally.all()
        if evidence.outcomes(job).count(Outcome.SUCCEEDED) != (job.state is JobState.SUCCEEDED)
    ]
    yield Check(f"no job succeeded twice, over {sum(map(len, evidence.attempts.values()))} attempts", wrong)
    over = [
        job.id
        for job in evidence.tally.all()
        if any(attempt.counted > job.max_attempts for attempt in evidence.attempts[job.id])
    ]
    yield Check("no job had more attempts than it was allowed", over)
    second = [again for again, first in record.duplicates if again != first]
    yield Check(
        f"{len(record.duplicates)} duplicate found the first job, {record.conflicts} conflict was refused",
        second if record.conflicts else [*second, "no conflict"],
    )
    ran = [job.id for job in evidence.jobs(record.canceled) if evidence.attempts[job.id]]
    yield Check("the canceled job never ran", ran)


def _killed(record: Record, evidence: Evidence) -> Check:
    wrong: list[object] = [] if record.held else ["the worker held nothing"]
    for job in evidence.jobs(*record.held):
        crashed = [
            attempt.number
            for attempt in evidence.attempts[job.id]
            if attempt.outcome is Outcome.CRASHED and attempt.node_id == record.held[job.id]
        ]
        if not crashed or job.state is not JobState.SUCCEEDED:
            wrong.append(job.id)
    return Check(
        f"{len(record.held)} jobs of the killed worker were recovered and succeeded elsewhere", wrong
    )


def _poisoned(record: Record, evidence: Evidence) -> Check:
    wrong: list[object] = [record.poison]
    for job in evidence.jobs(record.poison):
        # Of the last it may not be known whether it began: then it is given back, once.
        counted = [outcome for outcome in evidence.outcomes(job) if outcome is not Outcome.RELEASED]
        if job.state is JobState.DEAD and counted == [Outcome.CRASHED] * job.max_attempts:
            wrong = []
    return Check("the poison job is dead, and each attempt that counted was a crash", wrong)


def _redriven(record: Record, evidence: Evidence) -> Check:
    wrong: list[object] = [] if record.dead else ["nothing was dead"]
    wrong += [job.id for job in evidence.jobs(*record.dead) if job.state is not JobState.SUCCEEDED]
    return Check(f"{len(record.dead)} dead jobs were redriven and succeeded", wrong)
