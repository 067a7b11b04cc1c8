"""The closing summary: numbers, checks, and what contradicts them if anything does."""

from collections.abc import Sequence

from windlass.demo.proof import Check, Evidence
from windlass.demo.stage import TENANTS
from windlass.demo.view import View
from windlass.model import Outcome

__all__ = ["conclude"]

_SHOWN_MISMATCHES = 5
_STATES = ("succeeded", "dead", "canceled")


def conclude(view: View, evidence: Evidence, checks: Sequence[Check], *, killed: int) -> None:
    view.scene("Was anything lost?", "Every answer below is computed from what the database says now.")
    view.table(("tenant", "jobs", *_STATES, "attempts", "failed", "crashed"), _rows(evidence))
    crashed = evidence.count(Outcome.CRASHED)
    if released := evidence.count(Outcome.RELEASED):
        given = "1 attempt was" if released == 1 else f"{released} attempts were"
        view.text(f"   {given} given back by a worker that left, which does not count: the job ran elsewhere")
    view.text(f"   {killed} worker processes were killed, and {crashed} attempts with them")
    view.text()
    for check in checks:
        view.verdict(check.passed, check.text)
        for mismatch in check.mismatches[:_SHOWN_MISMATCHES]:
            view.text(f"         {mismatch}")
        if len(check.mismatches) > _SHOWN_MISMATCHES:
            view.text(f"         and {len(check.mismatches) - _SHOWN_MISMATCHES} more")


def _rows(evidence: Evidence) -> list[tuple[str, ...]]:
    return [_row(evidence, name, slug) for slug, name in TENANTS.items()] + [_row(evidence, "all", None)]


def _row(evidence: Evidence, name: str, tenant: str | None) -> tuple[str, ...]:
    jobs = list(evidence.tally.all()) if tenant is None else evidence.tally.jobs[tenant]
    states = evidence.tally.states(tenant)
    numbers = [
        len(jobs),
        *(states[state] for state in _STATES),
        sum(len(evidence.attempts[job.id]) for job in jobs),
        evidence.count(Outcome.FAILED, tenant),
        evidence.count(Outcome.CRASHED, tenant),
    ]
    return (name, *map(str, numbers))
