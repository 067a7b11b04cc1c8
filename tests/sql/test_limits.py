"""Limits on claims: they hold exactly, and what they hold back holds nobody else up."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from tests.sql.limits import limit, use
from tests.sql.steps import Session
from tests.sql.whole import assert_whole
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

NOON = datetime(2031, 5, 14, 12, 0, tzinfo=UTC)


def test_no_more_run_than_the_limit_whatever_ends_them(db: Database, jobs: Session, clock: Clock) -> None:
    clock.freeze(NOON)
    limit(jobs, queue="default", concurrency=4)
    for _ in range(20):
        jobs.enqueue(max_attempts=9)
    held = jobs.claim(10)
    assert len(held) == 4
    assert jobs.claim(10) == []
    jobs.complete(held[0])
    jobs.fail(held[1])
    jobs.release(held[2])
    assert jobs.cancel(held[3].job_id) == "running"
    assert len(jobs.claim(10, lease=10)) == 3, "a cancel that is only asked for frees nothing"
    jobs.fail(held[3], outcomes=["canceled"])
    assert len(jobs.claim(10, lease=10)) == 1
    clock.advance(11)
    assert len(jobs.claim(10)) == 4, "leases that ran out free their places when they are recovered"
    assert jobs.claim(10) == []
    assert_whole(db)


def test_a_limit_takes_effect_and_is_lifted_at_run_time(jobs: Session) -> None:
    for _ in range(10):
        jobs.enqueue()
    assert len(jobs.claim(3)) == 3
    limit(jobs, kind="mail", concurrency=2)
    assert jobs.claim(10) == []
    limit(jobs, kind="mail", concurrency=5)
    assert len(jobs.claim(10)) == 2
    jobs.call("select windlass.clear_limit(p_kind => 'mail')")
    assert len(jobs.claim(10)) == 5


def test_work_moves_past_a_limited_tenant_in_the_same_claim(jobs: Session, other: Session) -> None:
    limit(jobs, tenant=jobs.tenant, concurrency=1)
    for _ in range(50):
        jobs.enqueue(priority=9)
    for _ in range(8):
        other.enqueue()
    assert Counter(row.tenant_id for row in jobs.claim(9)) == {jobs.tenant: 1, other.tenant: 8}


def test_work_moves_past_a_limited_kind_of_a_strict_queue(jobs: Session) -> None:
    jobs.call("select windlass.set_queue('default', 'strict')")
    limit(jobs, kind="heavy", concurrency=1)
    for _ in range(5):
        jobs.enqueue("heavy", priority=9)
    low = [jobs.enqueue("light", priority=1) for _ in range(3)]
    got = jobs.claim(4)
    assert got[0].kind == "heavy"
    assert [row.job_id for row in got[1:]] == low


def test_one_limit_over_many_lanes_is_filled_by_priority(jobs: Session) -> None:
    limit(jobs, tenant=jobs.tenant, concurrency=4)
    urgent = [jobs.enqueue("urgent", priority=5)]
    plain = [jobs.enqueue("plain") for _ in range(9)]
    got = [row.job_id for row in jobs.claim(20)]
    assert got == urgent + plain[:3], "a lane with few jobs keeps no room from those behind it"


def test_every_limit_that_matches_holds(db: Database, jobs: Session, other: Session) -> None:
    limit(jobs, queue="default", concurrency=7)
    limit(jobs, tenant=jobs.tenant, concurrency=4)
    limit(jobs, tenant=jobs.tenant, kind="mail", concurrency=2)
    for kind in ("mail", "report"):
        for _ in range(9):
            jobs.enqueue(kind)
            other.enqueue(kind)
    got = jobs.claim(50)
    assert len(got) == 7
    mine = Counter(row.kind for row in got if row.tenant_id == jobs.tenant)
    assert mine.total() <= 4
    assert mine["mail"] <= 2
    assert jobs.claim(50) == []
    assert_whole(db)


def test_a_bucket_is_full_at_first_and_fills_by_the_clock(db: Database, jobs: Session, clock: Clock) -> None:
    clock.freeze(NOON)
    bucket = limit(jobs, tenant=jobs.tenant, rate=10, rate_seconds=60, burst=4)
    for _ in range(40):
        jobs.enqueue()
    assert len(jobs.claim(10)) == 4
    assert jobs.claim(10) == []
    clock.advance(5.9)
    assert jobs.claim(10) == []
    clock.advance(0.1)
    assert len(jobs.claim(10)) == 1
    clock.advance(3600)
    assert use(db, bucket).tokens == 4
    assert len(jobs.claim(10)) == 4


def test_nothing_drifts_in_many_small_steps(jobs: Session, clock: Clock) -> None:
    clock.freeze(NOON)
    limit(jobs, rate=7, rate_seconds=3, burst=3)
    jobs.enqueue_many([{"kind": "mail", "payload": n} for n in range(80)])
    taken = 0
    for _ in range(300):
        taken += len(jobs.claim(5))
        clock.advance(0.1)
    assert taken == 3 + int(29.9 * 7 / 3)


def test_a_claim_says_when_a_rate_lets_it_go_on(jobs: Session, clock: Clock) -> None:
    clock.freeze(NOON)
    limit(jobs, rate=1, rate_seconds=2)
    jobs.enqueue()
    jobs.enqueue()
    text = "select job_id, expires_at from windlass.claim_jobs(%s, '{default}', p_limit => 5, p_hint => true)"
    rows = jobs.call(text, jobs.node)
    assert [row.job_id is None for row in rows] == [False, True]
    assert rows[1].expires_at == NOON + timedelta(seconds=2)
    assert all(row.job_id for row in jobs.claim(5)), "only who asks for it is told"


@pytest.mark.parametrize(
    ("said", "milliseconds"),
    [({"rate": 1000, "burst": 100}, 20), ({"rate": 1000, "burst": 4}, 4), ({"rate": 1000, "burst": 1}, 1)],
)
def test_under_a_high_rate_a_claim_is_worth_more_than_one_job(
    jobs: Session, clock: Clock, said: dict[str, int], milliseconds: int
) -> None:
    """Else a worker asks a thousand times a second; a bucket that holds no more is not let run over."""
    clock.freeze(NOON)
    limit(jobs, **said)
    jobs.enqueue_many([{"kind": "mail", "payload": {}}] * (said["burst"] + 1))
    text = (
        "select job_id, expires_at from windlass.claim_jobs(%s, '{default}', p_limit => 200, p_hint => true)"
    )
    *taken, hint = jobs.call(text, jobs.node)
    assert (len(taken), hint.job_id) == (said["burst"], None)
    assert hint.expires_at == NOON + timedelta(milliseconds=milliseconds)


def test_a_change_of_rate_gives_no_tokens_away(db: Database, jobs: Session, clock: Clock) -> None:
    clock.freeze(NOON)
    bucket = limit(jobs, rate=5, rate_seconds=10)
    for _ in range(20):
        jobs.enqueue()
    assert len(jobs.claim(20)) == 5
    limit(jobs, rate=100, rate_seconds=10)
    assert (use(db, bucket).tokens, use(db, bucket).burst) == (0, 100)
    assert jobs.claim(20) == []
    clock.advance(1)
    assert len(jobs.claim(20)) == 10


def test_who_claims_under_a_limit_in_an_open_transaction_holds_up_nobody_else(
    db: Database, jobs: Session, other: Session
) -> None:
    limit(jobs, tenant=jobs.tenant, concurrency=5)
    for _ in range(9):
        jobs.enqueue()
        other.enqueue()
    holder = Session(db.connect(autocommit=False))
    mine = [row for row in holder.claim(2) if row.tenant_id == jobs.tenant]
    got = jobs.claim(20)
    assert {row.tenant_id for row in got} == {other.tenant}
    holder.conn.commit()
    assert len(jobs.claim(20)) == 5 - len(mine)


def test_nodes_that_wait_are_told_when_a_place_is_free(db: Database, jobs: Session) -> None:
    limit(jobs, queue="default", concurrency=1)
    jobs.enqueue()
    jobs.enqueue()
    held = jobs.claim_one()
    listener = db.connect()
    listener.execute("listen windlass")
    assert jobs.claim(1, wait=True) == []
    jobs.complete(held)
    assert [notice.payload for notice in listener.notifies(timeout=5, stop_after=1)] == [str(jobs.node)]


def test_a_job_that_somebody_holds_keeps_no_room_from_others(db: Database, jobs: Session) -> None:
    limit(jobs, tenant=jobs.tenant, concurrency=5)
    held = jobs.enqueue("urgent", priority=9)
    rest = [jobs.enqueue("plain") for _ in range(3)]
    holder = Session(db.connect(autocommit=False))
    holder.cancel(held)
    assert [row.job_id for row in jobs.claim(10)] == rest
    holder.conn.rollback()


def test_one_job_is_found_among_many_tenants_at_their_limits(db: Database, jobs: Session) -> None:
    """In as many rounds as for a few of them: the first that is shut shuts all of them."""
    tenants = [jobs.value("select windlass.create_tenant(%s, %s)", f"t{n}", f"t{n}") for n in range(40)]
    for tenant in tenants:
        Session(jobs.conn, tenant).enqueue()
        limit(jobs, tenant=tenant, concurrency=0)
    free = jobs.enqueue()
    db.execute("set track_functions = 'all'", role="superuser")
    text = "select calls from pg_stat_xact_user_functions where funcname = '_next_turn'"
    connection = db.connect("superuser", autocommit=False)
    connection.execute("set local track_functions = 'all'")
    session = Session(connection)
    assert [row.job_id for row in session.claim(1)] == [free]
    assert session.value(text) <= 3


def test_a_rate_that_grows_keeps_what_was_there(jobs: Session, clock: Clock) -> None:
    clock.freeze(NOON)
    limit(jobs, rate=1, rate_seconds=1, burst=2)
    clock.advance(3600)
    limit(jobs, rate=1000)
    for _ in range(5):
        jobs.enqueue()
    assert len(jobs.claim(5)) == 2, "neither the burst nor the tokens of the old one have grown"


def test_what_runs_is_counted_from_leases_and_not_from_lanes(db: Database, jobs: Session) -> None:
    """A tenant may have had thousands of lanes; each claim under its limit would walk them all."""
    limit(jobs, tenant=jobs.tenant, concurrency=5)
    jobs.enqueue()
    assert len(jobs.claim(1)) == 1
    db.execute(
        "insert into windlass_data.lane (tenant_id, queue, kind, priority)"
        " select %s, 'default', 'mail', p from generate_series(1, 3000) as p",
        jobs.tenant,
        role="superuser",
    )
    read = (
        "select sum(seq_tup_read + idx_tup_fetch)::int from pg_stat_xact_user_tables"
        " where relname in ('lane', 'lease')"
    )
    with db.connection("superuser").transaction():
        (row,) = db.fetch(
            "select running from windlass._limit_rooms(array(select id from windlass_data.job_limit), now())",
            role="superuser",
        )
        assert row.running == 1
        assert db.fetch_value(read, role="superuser") < 300, "a few that others left, and no lanes"
