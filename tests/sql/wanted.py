"""Jobs as somebody may want them, for Hypothesis to choose from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT

__all__ = [
    "ANY_JOB",
    "KINDS",
    "OUTCOMES",
    "TENANTS",
    "VERBS",
    "Wanted",
    "choose",
    "delays",
    "new_jobs",
    "picks",
]

TENANTS = (DEFAULT_TENANT, OTHER_TENANT)
KINDS = ("a", "b")
OUTCOMES = {
    "fail": "failed",
    "time out": "timed_out",
    "give up": "canceled",
    "snooze": "snoozed",
    "release": "released",
}
VERBS = ("complete", "skip", *OUTCOMES)

picks = st.lists(st.integers(0, 99), min_size=1, max_size=4)
delays = st.sampled_from([None, 0, 5_000, 50_000])


@dataclass(frozen=True)
class Wanted:
    """A job as somebody may want it."""

    tenant: UUID
    kind: str
    priority: int
    max_attempts: int
    after: int
    key: str | None
    scope: str
    payload: int


ANY_JOB = Wanted(DEFAULT_TENANT, KINDS[0], 0, 2, 0, None, "forever", 1)

new_jobs = st.builds(
    Wanted,
    tenant=st.sampled_from(TENANTS),
    kind=st.sampled_from(KINDS),
    priority=st.integers(0, 1),
    max_attempts=st.integers(1, 3),
    after=st.sampled_from([0, 0, 0, 10_000, 100_000]),
    key=st.sampled_from([None, None, "x", "y"]),
    scope=st.sampled_from(["forever", "active"]),
    payload=st.sampled_from([1, 1, 1, 2]),
)


def choose(items: Sequence[Any], numbers: Sequence[int]) -> list[Any]:
    """Some of the items, each at most once."""
    if not items:
        return []
    return list({number % len(items): items[number % len(items)] for number in numbers}.values())
