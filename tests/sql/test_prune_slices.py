"""prune_jobs where a day cannot go as a whole: jobs are deleted a few at a time, found by their indexes."""

import json
from typing import Any
from uuid import UUID

import pytest

from tests.sql.days import ENDS, Past
from tests.sql.operate import call
from tests.sql.steps import Session
from tests.sql.whole import assert_whole
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


@pytest.fixture
def past(db: Database, clock: Clock, jobs: Session) -> Past:
    return Past(db, clock, jobs)


def test_a_day_that_many_outlive_is_emptied_a_few_at_a_time(db: Database, past: Past) -> None:
    past.make(40)
    kept = {past.enqueue(40, key=f"kept{n}") for n in range(4)}
    for n in range(5):
        past.end(40, key=f"gone{n}")
    rows = [past.prune(limit=3) for _ in range(2)]
    assert [(row.dropped, row.removed, row.more) for row in rows] == [([], 3, True), ([], 2, False)]
    assert past.has_tables(40)
    assert past.listed() == kept
    assert_whole(db)
    assert past.prune(limit=4).dropped == [past.day(40)]
    assert past.listed() == kept
    assert_whole(db)


def test_few_jobs_with_very_many_attempts_do_not_stop_everybody(db: Database, past: Past) -> None:
    """They would have to be moved while everybody waits."""
    past.make(40)
    past.end(40)
    polling = past.enqueue(40)
    for _ in range(5):
        past.jobs.snooze(past.claim(polling), delays=[0])
    row = past.prune(limit=1)
    assert (row.dropped, row.removed) == ([], 1)
    assert past.prune(limit=2).dropped == [past.day(40)]
    assert len(call(db, "list_attempts", tenant=past.jobs.tenant, job=polling)) == 5
    assert_whole(db)


@pytest.mark.parametrize("how", ENDS)
def test_jobs_of_the_rest_go_one_by_one_and_oldest_first(db: Database, past: Past, how: str) -> None:
    """No day was made for them."""
    jobs = [past.end(age, how, key=f"key{age}") for age in (38, 40, 39)]
    young = past.end(20, how)
    assert set(past.tables()) <= {"job_rest", "attempt_rest"}
    assert past.prune(limit=1).removed == 1
    assert past.listed() == {jobs[0], jobs[2], young}
    assert past.prune(limit=5).removed == 2
    assert past.listed() == {young}
    assert past.jobs.enqueue_row("kind0", key="key38").created
    assert_whole(db)


def test_the_rest_keeps_what_is_not_finished(db: Database, past: Past) -> None:
    waiting, late = past.enqueue(40), past.enqueue(40, run_at=past.noon(-7))
    running = past.enqueue(40)
    past.claim(running)
    retrying = past.enqueue(40)
    past.jobs.fail(past.claim(retrying), delays=[3600])
    assert past.prune_all(succeeded=0, canceled=0, skipped=0, dead=0) == ([], 0)
    assert past.listed() == {waiting, late, running, retrying}
    assert_whole(db)


def test_a_finished_job_stays_while_its_lease_does(db: Database, past: Past) -> None:
    """The lease is settled by counting attempts: without this one it would stay open for ever."""
    for _ in range(2):
        past.enqueue(40, kind="pair")
    with past.at(40):
        first, second = past.jobs.claim(2, kinds=["pair"], lease=86400)
        past.jobs.complete(first)
    assert past.prune(limit=5).removed == 0
    assert past.jobs.complete(second) == []
    assert past.prune(limit=5).removed == 1
    assert past.listed() == {second.job_id}
    assert_whole(db)


def test_the_state_decides_and_not_the_index_that_found_the_job(db: Database, past: Past) -> None:
    """A job that stands in line is queued, whatever its last attempt says."""
    job_id = past.end(40, "dead")
    db.execute(
        "insert into windlass_data.scheduled (tenant_id, job_id, run_at, lane_id, version, counted) "
        "select j.tenant_id, j.id, now() + interval '1 day', j.lane_id, 1, 1 from windlass_data.job as j",
        role="superuser",
    )
    assert past.prune().removed == 0
    assert past.jobs.state(job_id) == "queued"


def test_a_job_with_several_attempts_goes_with_all_of_them(db: Database, past: Past) -> None:
    job_id = past.enqueue(40)
    with past.at(40):
        past.jobs.fail(past.claim(job_id), delays=[0])
        past.jobs.complete(past.claim(job_id))
    assert past.prune().removed == 1
    assert past.tables() == {}


@pytest.mark.parametrize("how", ENDS)
def test_a_keep_under_a_day_is_taken_at_its_word(db: Database, past: Past, how: str) -> None:
    """The day is not over, so it cannot go; what comes after is not delayed by a day."""
    past.make(1)
    past.end(1, how)
    waiting = past.enqueue(1)
    with past.at(1):
        row = past.prune(**{ENDS[how]: 0})
    assert (row.dropped, row.removed) == ([], 1)
    assert past.listed() == {waiting}
    assert_whole(db)


def test_a_day_is_not_emptied_before_it_can_go(db: Database, past: Past) -> None:
    """Deleting row by row what can be dropped tomorrow would be the dearer way."""
    past.make(30)
    job_id = past.end(30)
    with past.at(0):
        assert past.prune(succeeded=30).removed == 0
    assert past.listed() == {job_id}
    with past.at(-1):
        assert past.prune(succeeded=30).dropped == [past.day(30)]


def fill(past: Past, size: int, state: str, *, table: str, age: int = 40) -> int:
    """Finished jobs, written straight into the tables; the pages that their attempts lie on."""
    conn = past.db.connection("superuser")
    conn.execute(
        """
        with made as (
          select n, (substr(windlass_data.first_id(%(at)s)::text, 1, 14) || '7'
                     || substr(gen_random_uuid()::text, 16))::uuid as id
          from generate_series(1, %(size)s) as n
        ), jobs as (
          insert into windlass_data.job (tenant_id, id, lane_id, max_attempts, created_at, payload)
          select %(tenant)s, m.id, 1, 1, %(at)s, jsonb_build_object('text', repeat('x', 500)) from made as m
        )
        insert into windlass_data.attempt
          (tenant_id, job_id, version, counted, node_id, token, started_at, finished_at, result, outcome,
           ends)
        select %(tenant)s, m.id, 1, 1, gen_random_uuid(), gen_random_uuid(), %(at)s, %(at)s,
               jsonb_build_object('text', repeat('x', 500)),
               case %(state)s when 'succeeded' then 'succeeded' else 'failed' end::windlass_data.outcome,
               %(state)s::windlass_data.job_state
        from made as m
        """,
        {"at": past.noon(age), "size": size, "tenant": past.jobs.tenant, "state": state},
    )
    conn.execute(f"vacuum analyze windlass_data.job_{table}, windlass_data.attempt_{table}".encode())
    pages = past.db.fetch_value("select pg_relation_size(%s) / 8192", f"windlass_data.attempt_{table}")
    assert isinstance(pages, int)
    return pages


def pages_read(past: Past, limit: int) -> tuple[int, Any]:
    """The pages that one call touches, and its answer."""
    query = "select * from windlass.prune_jobs('30 days', '30 days', '30 days', '90 days', %s)"
    with past.jobs.conn.transaction(force_rollback=True):
        ((plan,),) = past.jobs.call(f"explain (analyze, buffers, format json) {query}", limit)
    answer = past.jobs.call(query, limit)
    plan = json.loads(plan) if isinstance(plan, str) else plan
    return plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"], answer[0]


def test_dropping_a_large_day_costs_no_more_than_a_small_one(db: Database, past: Past) -> None:
    """The first call reads the catalog too, so it is not compared."""
    sizes = {41: 100, 40: 100, 39: 20_000}
    past.make(*sizes)
    kept: list[UUID] = []
    pages = 0
    for age, size in sizes.items():
        kept += [past.enqueue(age), past.end(age, "dead"), past.end(age, finished=3)]
        pages = fill(past, size, "succeeded", table=past.day(age).strftime("%Y%m%d"), age=age)
    (_, first), (small, second), (large, third) = [pages_read(past, 100) for _ in sizes]
    assert [first.dropped, second.dropped, third.dropped] == [[past.day(age)] for age in sizes]
    assert large - small < pages / 2
    assert past.listed() == set(kept)


@pytest.mark.parametrize("table", ["rest", "day"])
def test_a_slice_reads_no_more_than_it_takes(db: Database, past: Past, table: str) -> None:
    if table == "day":
        past.make(40)
        table = past.day(40).strftime("%Y%m%d")
        for _ in range(6):
            past.enqueue(40)
    past.end(40)
    pages = fill(past, 20_000, "succeeded", table=table)
    assert past.prune(limit=5).removed == 5
    touched, answer = pages_read(past, 5)
    assert answer.removed == 5
    assert touched < pages / 2


def test_jobs_kept_in_the_rest_are_not_read_again_and_again(db: Database, past: Past) -> None:
    touched, pages = [], 0
    for size in (100, 100, 20_000):
        past.end(40)
        pages = fill(past, size, "dead", table="rest")
        n, answer = pages_read(past, 10)
        assert answer.removed == 1
        touched.append(n)
    assert touched[2] - touched[1] < pages / 3
