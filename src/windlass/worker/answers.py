"""Words as one call, and what the database's answer to it means for each of them."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias, TypeVar

from windlass.db.call import Call
from windlass.db.rpc import complete_jobs, fail_jobs, release_jobs, snooze_jobs
from windlass.worker.words import Verb, Word

__all__ = ["AGAIN", "LOST", "SUCCEEDED", "Answer", "Answered", "answers_to", "call_for"]

T = TypeVar("T")


class Answer(NamedTuple):
    """What the database said: `ok` with the job's state, or why the word changed nothing."""

    code: str
    state: str | None = None
    run_at: Any = None


SUCCEEDED = Answer("ok", "succeeded")
LOST = Answer("lease_lost")
AGAIN = Answer("again")
"""No answer: the word is to be said once more."""
_SKIPPED = Answer("ok", "skipped")

Answered: TypeAlias = tuple[list[Word], Answer]
"""Words that got the same answer."""


def call_for(words: list[Word]) -> Call[Any]:
    """The call that says these; they have one verb."""
    verb: Verb = words[0].verb
    tokens = [word.job.token_bytes for word in words]
    jobs = [word.job.id_bytes for word in words]
    if verb == "release":
        return release_jobs(tokens, jobs)
    if verb == "snooze":
        return snooze_jobs(tokens, jobs, [word.delay or 0.0 for word in words])
    if verb == "fail":
        errors = [word.error for word in words]
        outcomes = (
            [word.outcome for word in words] if any(word.outcome != "failed" for word in words) else None
        )
        return fail_jobs(tokens, jobs, errors, outcomes, _unless_all_none([word.delay for word in words]))
    results = _unless_all_none([word.result for word in words])
    states = [word.state for word in words] if any(word.state != "succeeded" for word in words) else None
    tenants = [word.job.tenant_bytes for word in words] if any(word.repeated for word in words) else None
    return complete_jobs(tokens, jobs, results, None, states, tenants)


def answers_to(words: list[Word], rows: list[Any]) -> Iterator[Answered]:
    """What `rows` say of these.  Of successes they name only the refused."""
    if words[0].verb != "complete":
        for word, row in zip(words, rows, strict=True):
            yield [word], Answer(row.code, row.state, row.run_at)
        return
    if rows:
        refused = {row.job_id.bytes for row in rows}
        yield from _refusals(words, refused)
        words = [word for word in words if word.job.id_bytes not in refused]
    skipped = [word for word in words if word.state == "skipped"]
    if skipped:
        words = [word for word in words if word.state != "skipped"]
        yield skipped, _SKIPPED
    yield words, SUCCEEDED


def _refusals(words: list[Word], refused: set[bytes]) -> Iterator[Answered]:
    latest = {word.job.id_bytes: word.job.version for word in words}
    for word in words:
        job = word.job
        if job.id_bytes not in refused:
            continue
        if len(latest) < len(words) and job.version == latest[job.id_bytes] and not word.repeated:
            # Two attempts of one job in one batch, and the answer names only the job: ask again.
            word.repeated = True
            yield [word], AGAIN
        else:
            yield [word], LOST


def _unless_all_none(values: list[T | None]) -> list[T | None] | None:
    return None if values.count(None) == len(values) else values
