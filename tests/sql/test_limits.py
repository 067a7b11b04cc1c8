"""Limits on claims: they hold exactly, and what they hold back holds nobody else up."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

NOON = datetime(2031, 5, 14, 12, 0, tzinfo=UTC)


def limit(jobs: Session, **said: Any) -> int:
    names = ", ".join(f"p_{name} => %s" for name in said)
    return int(jobs.value(f"select windlass.set_limit({names})", *said.values()))


def use(db: Database, limit_id: int) -> Any:
    (row,) = db.fetch("select * from windlass.list_limits() where id = %s", limit_id)
    return row


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


def test_depth_is_checked_for_a_batch_as_a_whole(db: Database, jobs: Session) -> None:
    limit(jobs, tenant=jobs.tenant, queue="default", depth=5)
    jobs.enqueue_many([{"kind": "mail", "payload": n} for n in range(3)])
    with refused("WL006") as error:
        jobs.enqueue_many([{"kind": "mail", "payload": n} for n in range(3)])
    detail = str(error.value.diag.message_detail)
    assert [json.loads(detail)[name] for name in ("depth", "waiting", "new")] == [5, 3, 3]
    assert "tenant default, queue default" in str(error.value)
    jobs.enqueue()
    jobs.enqueue("mail", run_at=datetime(2099, 1, 1, tzinfo=UTC))
    with refused("WL006"):
        jobs.enqueue()
    with refused("WL006"):
        jobs.call(
            "select windlass.enqueue_many(%s, '{\"kind\": \"mail\"}', '[1, 2]', %s)",
            jobs.tenant,
            [uuid4(), uuid4()],
        )
    jobs.enqueue(queue="elsewhere")
    jobs.claim_one()
    jobs.enqueue()
    assert_whole(db)


def test_a_duplicate_is_no_new_job_to_a_full_line(jobs: Session) -> None:
    limit(jobs, depth=1)
    first = jobs.enqueue(key="a")
    assert jobs.enqueue_row(key="a") == (first, False)


def test_two_who_enqueue_at_once_do_not_pass_the_depth_together(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    jobs.claim_one()
    limit(jobs, depth=1)
    first = Session(db.connect(autocommit=False))
    first.enqueue()
    second = Session(db.connect(autocommit=False))
    second.call("set local lock_timeout = '300ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        second.enqueue()
    second.conn.rollback()
    first.conn.commit()
    with refused("WL006"):
        second.enqueue()


def test_a_budget_holds_claims_until_it_is_raised_or_its_period_turns(
    db: Database, jobs: Session, clock: Clock
) -> None:
    clock.freeze(NOON)
    budget = limit(jobs, tenant=jobs.tenant, budget_cents=100, warn_cents=60)
    for _ in range(9):
        jobs.enqueue()
    first, second = jobs.claim(2)
    jobs.complete(first, costs=[70])
    third = jobs.claim_one()
    jobs.fail(second, costs=[40])
    assert use(db, budget).spent_cents == 110
    assert jobs.claim(5) == []
    limit(jobs, tenant=jobs.tenant, budget_cents=120)
    assert len(jobs.claim(1)) == 1
    jobs.complete(third, costs=[10])
    assert jobs.claim(5) == []
    clock.freeze(NOON + timedelta(hours=11, minutes=59))
    assert jobs.claim(5) == []
    clock.freeze(NOON + timedelta(hours=12))
    assert len(jobs.claim(5)) == 5
    warnings = db.fetch(
        "select details from windlass_data.event where action = 'budget.warning'", role="superuser"
    )
    assert [row.details["spent_cents"] for row in warnings] == [70]


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "WL007"),
    ({"concurrency": -1}, "WL007"),
    ({"rate": 0}, "WL007"),
    ({"rate": 5, "rate_seconds": 0}, "WL007"),
    ({"rate": 5, "rate_seconds": float("nan")}, "WL007"),
    ({"rate": 5, "burst": 0}, "WL007"),
    ({"burst": 5}, "WL007"),
    ({"rate_seconds": 5}, "WL007"),
    ({"depth": -1}, "WL007"),
    ({"budget_cents": -1}, "WL007"),
    ({"budget_cents": 5, "budget_period": "fortnight"}, "WL007"),
    ({"budget_cents": 5, "warn_cents": 6}, "WL007"),
    ({"budget_period": "day"}, "WL007"),
    ({"queue": "no such name", "depth": 1}, "WL007"),
    ({"kind": "", "depth": 1}, "WL007"),
    ({"tenant": "00000000-0000-7000-8000-00000000dead", "depth": 1}, "WL001"),
]


@pytest.mark.parametrize(("said", "code"), BAD)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    db: Database, jobs: Session, said: dict[str, Any], code: str
) -> None:
    with refused(code):
        limit(jobs, **said) if said else jobs.call("select windlass.set_limit()")
    assert db.fetch("select * from windlass.list_limits()") == []


def test_clearing_takes_back_a_part_or_all(db: Database, jobs: Session) -> None:
    made = limit(jobs, kind="mail", concurrency=3, rate=5, depth=9, budget_cents=10)
    jobs.call("select windlass.clear_limit(p_kind => 'mail', p_what => '{rate,budget}')")
    row = use(db, made)
    assert (row.concurrency, row.rate, row.depth, row.budget_cents) == (3, None, 9, None)
    with refused("WL001"):
        jobs.call("select windlass.clear_limit(p_kind => 'mail', p_what => '{rate}')")
    with refused("WL007"):
        jobs.call("select windlass.clear_limit(p_kind => 'mail', p_what => '{colour}')")
    jobs.call("select windlass.clear_limit(p_kind => 'mail')")
    assert db.fetch("select * from windlass.list_limits()") == []
    with refused("WL001"):
        jobs.call("select windlass.clear_limit(p_kind => 'mail')")


def test_a_batch_may_go_in_as_far_as_it_fits(db: Database, jobs: Session) -> None:
    limit(jobs, kind="mail", depth=3)
    limit(jobs, queue="default", depth=5)
    jobs.enqueue("mail")
    batch = [
        {"kind": kind, "payload": n}
        for n, kind in enumerate(["mail", "mail", "mail", "report", "report", "report"])
    ]
    text = "select * from windlass.enqueue_jobs(%s, %s, p_partial => true)"
    rows = jobs.call(text, jobs.tenant, json.dumps(batch))
    assert [row.ordinal for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row.job_id is not None for row in rows] == [True, True, False, True, True, False]
    assert [row.created for row in rows] == [True, True, False, True, True, False]
    assert_whole(db)
    jobs.call("select windlass.clear_limit(p_kind => 'mail')")
    jobs.call("select windlass.clear_limit(p_queue => 'default')")
    assert all(row.created for row in jobs.call(text, jobs.tenant, json.dumps(batch)))


def test_a_budget_that_is_cleared_leaves_nothing_that_stops_a_claim(db: Database, jobs: Session) -> None:
    made = limit(jobs, tenant=jobs.tenant, concurrency=5, budget_cents=100)
    jobs.enqueue()
    jobs.complete(jobs.claim_one(), costs=[70])
    jobs.call("select windlass.clear_limit(p_tenant => %s, p_what => '{budget}')", jobs.tenant)
    db.execute(  # by somebody who still saw the budget
        "insert into windlass_data.spending (limit_id, at, cents) values (%s, now(), 5)",
        made,
        role="superuser",
    )
    jobs.enqueue()
    assert len(jobs.claim(5)) == 1
    assert db.fetch("select from windlass_data.spending", role="superuser") == []


def test_the_warning_comes_although_nothing_more_is_claimed(db: Database, jobs: Session) -> None:
    made = limit(jobs, tenant=jobs.tenant, warn_cents=60)
    jobs.enqueue()
    jobs.complete(jobs.claim_one(), costs=[70])
    jobs.call("select windlass.fold_costs()")
    text = "select details ->> 'limit' as name from windlass_data.event where action = 'budget.warning'"
    assert [row.name for row in db.fetch(text, role="superuser")] == [str(made)]
    jobs.call("select windlass.fold_costs()")
    assert len(db.fetch(text, role="superuser")) == 1


def test_a_key_that_is_used_again_is_a_new_job_to_a_full_line(jobs: Session) -> None:
    jobs.enqueue(key="k", scope="active")
    jobs.complete(jobs.claim_one())
    limit(jobs, depth=1)
    jobs.enqueue()
    with refused("WL006"):
        jobs.enqueue(key="k", scope="active")


def test_a_duplicate_brings_nothing_to_a_line_that_is_too_long(jobs: Session) -> None:
    jobs.enqueue(key="k")
    jobs.enqueue()
    limit(jobs, kind="mail", depth=1)
    first, second = jobs.enqueue_many(
        [{"kind": "mail", "payload": {}, "key": "k"}, {"kind": "report", "payload": {}}]
    )
    assert (first.created, second.created) == (False, True)
    with refused("WL006", match="at most 1 jobs of kind mail may wait: 2 do, and 1 were to come"):
        jobs.enqueue_many([{"kind": "mail", "payload": 1}, {"kind": "report", "payload": 2}])


def test_a_snapshot_from_before_gets_no_job_in_under_a_limit(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    limit(jobs, depth=5, concurrency=5)
    old = Session(db.connect(autocommit=False))
    old.call("set transaction isolation level repeatable read")
    with refused("WL007"):
        old.enqueue()
    old.conn.rollback()
    old.call("set transaction isolation level repeatable read")
    assert old.claim(5) == []


def test_queues_of_windlass_itself_are_nobodys(jobs: Session) -> None:
    with refused("WL007"):
        jobs.enqueue(queue="windlass.system")
    with refused("WL007"):
        limit(jobs, queue="windlass.system", concurrency=1)


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
