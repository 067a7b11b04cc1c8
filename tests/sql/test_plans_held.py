"""What a call costs does not grow with the leases that a held snapshot keeps, whatever statistics say."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.sql.bulk import keep_statistics_still, measure
from tests.sql.steps import Session
from tests.support import Database

pytestmark = [pytest.mark.every_version, pytest.mark.timeout(300)]

LANES, PER_LANE, GONE = 10, 20, 30_000
ROUNDS = 3

# What a busy time leaves behind: leases that came and went, and nobody may clear them away.
_BURN = """
insert into windlass_data.lease
  (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted)
select gen_random_uuid(), l.tenant_id, l.id, gen_random_uuid(), now(), now() + interval '30 s', 1,
       array[gen_random_uuid()], array[1], array[0]
from windlass_data.lane as l, generate_series(1, %s);
"""
Words = tuple[list[Any], list[Any]]
CALLS: dict[str, tuple[str, Callable[[Words], list[Any]]]] = {
    "renew": ("renew_leases(%s)", lambda words: [words[0]]),
    "begin": ("begin_jobs(%s, %s)", list),
    "costs": (
        "record_costs(%s, %s, %s, %s)",
        lambda words: [*words, [1] * len(words[0]), ["x"] * len(words[0])],
    ),
    "complete": ("complete_jobs(%s, %s)", list),
    "complete too late": (
        "complete_jobs(%s, %s)",
        lambda words: [words[0] + words[0][:1], words[1] + words[1][-1:]],
    ),
    "fail": ("fail_jobs(%s, %s)", list),
    "release": ("release_jobs(%s, %s)", list),
    "finish": ("finish_job(%s, %s)", lambda words: [words[0][0], words[1][0]]),
    "expire": ("expire_leases(100, '1 s')", lambda words: []),
}


def pages_of(db: Database, conn: Any) -> dict[str, int]:
    """Pages that each word about a claim of many lanes reads; nothing of it is kept."""
    found = {}
    for name, (call, given) in CALLS.items():
        rounds = []
        for _ in range(ROUNDS):
            with conn.transaction(force_rollback=True):
                conn.execute("set local session authorization windlass_app")
                rows = Session(conn).claim(LANES * PER_LANE, lease=30)
                words = [row.token for row in rows], [row.job_id for row in rows]
                assert (len(rows), len(set(words[0]))) == (LANES * PER_LANE, LANES)
                rounds.append(measure(conn, f"select * from windlass.{call}", *given(words)).pages)
        found[name] = min(rounds)
    return found


def test_no_word_about_a_claim_walks_over_the_leases_that_are_gone(db: Database, jobs: Session) -> None:
    keep_statistics_still(db)
    for n in range(LANES * PER_LANE):
        jobs.enqueue(kind=f"k{n % LANES}", payload={})
    owner = db.connect("superuser")
    few = pages_of(db, owner)
    reports = {}
    holder = db.connect("superuser")
    with holder.transaction():
        holder.execute("set transaction isolation level repeatable read")
        holder.execute("select count(*) from pg_class")
        for done in range(3):
            owner.execute(_BURN.encode(), [GONE // LANES // 3])
            owner.execute("delete from windlass_data.lease")
            reports[f"with the plans of before, {done}"] = pages_of(db, owner)
            owner.execute("analyze windlass_data.lease")
            reports[f"with fresh statistics, {done}"] = pages_of(db, owner)
            reports[f"in a new session, {done}"] = pages_of(db, db.connect("superuser"))
    worse = {
        f"{name}, {when}": (few[name], pages)
        for when, found in reports.items()
        for name, pages in found.items()
        if pages > 1.5 * few[name] + 200
    }
    assert worse == {}, "pages before and after"
