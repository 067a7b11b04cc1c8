"""What a report costs grows with its jobs, and not with its jobs times their leases."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.sql.bulk import keep_statistics_still, measure
from tests.sql.steps import Session
from tests.support import Database

pytestmark = [pytest.mark.every_version, pytest.mark.timeout(300)]

JOBS = 2000
ROUNDS, TRIES = 3, 5
MANY_TIMES = 5
"""With tokens that are sorted again for every lease it is 7 to 60 times.  Otherwise it is 1.5 to 3 times."""
Words = tuple[list[Any], list[Any]]
CALLS: dict[str, tuple[str, Callable[[Words], list[Any]]]] = {
    "complete": ("complete_jobs(%s, %s)", list),
    "complete in part": ("complete_jobs(%s, %s)", lambda words: [words[0][::2], words[1][::2]]),
    "complete too late": (
        "complete_jobs(%s, %s)",
        lambda words: [words[0] + words[0][:1], words[1] + words[1][-1:]],
    ),
}


def times(conn: Any, leases: int, call: str, given: Callable[[Words], list[Any]]) -> float:
    """The best of some rounds of one word about as many jobs of so many leases; nothing of it is kept."""
    rounds = []
    for _ in range(ROUNDS):
        with conn.transaction(force_rollback=True):
            conn.execute("set local session authorization windlass_app")
            session, rows = Session(conn), []
            for _ in range(leases):
                rows += session.claim(JOBS // leases, begins=True)
            words = [row.token for row in rows], [row.job_id for row in rows]
            assert (len(rows), len(set(words[0]))) == (JOBS, leases)
            rounds.append(measure(conn, f"select * from windlass.{call}", *given(words)).milliseconds)
    return min(rounds)


@pytest.mark.parametrize("word", CALLS)
def test_many_leases_cost_little_more_than_a_few(db: Database, jobs: Session, word: str) -> None:
    keep_statistics_still(db)
    jobs.enqueue_many([{"kind": "mail", "payload": {}}] * JOBS)
    conn = db.connect("superuser")
    few = many = math.inf
    for _ in range(TRIES):  # what else the machine has to do makes a round longer, and never shorter
        few = min(few, times(conn, 2, *CALLS[word]))
        many = min(many, times(conn, JOBS // 2, *CALLS[word]))
        if many < MANY_TIMES * few:
            return
    pytest.fail(f"{few:.1f} ms for a few leases, {many:.1f} ms for many")
