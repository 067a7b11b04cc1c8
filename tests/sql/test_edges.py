"""Edges of the functions that move jobs which no other test stood on: each was found by a generated change.

`./run mutants --generated` makes such changes; whatever survives and matters gets its test here or beside the
function.
"""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tests.sql.steps import DEFAULT_TENANT, NODE, OTHER_TENANT, Session, refused
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
NEIGHBOUR = UUID("00000000-0000-7000-8000-0000000000bb")
SINCE = "select job_id from windlass.claim_jobs(%s, array['default'], p_limit => 9, p_since => %s)"
ENQUEUES = {
    "enqueue_job": "select windlass.enqueue_job(%s, 'mail', '{}', p_actor => 'ada')",
    "enqueue_jobs": "select windlass.enqueue_jobs(%s, '[{\"kind\": \"mail\"}]', p_actor => 'ada')",
    "enqueue_many": "select windlass.enqueue_many(%s, '{\"kind\": \"mail\"}', '[{}]', "
    "array[windlass_data.new_id()], p_actor => 'ada')",
}

ID = "'00000000-0000-7000-8000-00000000000a'"
ARRAYS = {
    "claim_jobs": f"{ID}, array[['default']]",
    "complete_jobs": f"array[[{ID}]]::uuid[], array[{ID}]::uuid[]",
    "fail_jobs": f"array[{ID}]::uuid[], array[[{ID}]]::uuid[]",
    "snooze_jobs": f"array[{ID}]::uuid[], array[{ID}]::uuid[], array[[1]]",
    "record_costs": f"array[{ID}]::uuid[], array[{ID}]::uuid[], array[[1]], array['fee']",
    "create_redrive": f"'{DEFAULT_TENANT}', p_kinds => array[['mail']]",
    "preview_redrive": f"'{DEFAULT_TENANT}', p_jobs => array[[{ID}]]::uuid[]",
    "enqueue_many": f"""'{DEFAULT_TENANT}', '{{"kind": "mail"}}', '[{{}}]', array[[{ID}]]::uuid[]""",
    "list_costs": "p_by => array[['kind']]",
}


@pytest.mark.parametrize("function", ARRAYS)
def test_an_array_of_arrays_is_no_list(jobs: Session, function: str) -> None:
    with refused("WL007"):
        jobs.call(f"select * from windlass.{function}({ARRAYS[function]})")


@pytest.mark.parametrize("since", [None, NOON], ids=["looking at all", "looking from that moment on"])
def test_a_job_is_due_at_its_very_moment(
    db: Database, jobs: Session, clock: Clock, since: datetime | None
) -> None:
    clock.freeze(NOON - timedelta(hours=1))
    job_id = jobs.enqueue(run_at=NOON)
    clock.freeze(NOON - timedelta(microseconds=1))
    assert jobs.call(SINCE, NODE, since) == []
    clock.freeze(NOON)
    assert [row.job_id for row in jobs.call(SINCE, NODE, since)] == [job_id]


def test_the_only_line_there_is_may_be_of_a_kind_that_is_not_asked_for(jobs: Session) -> None:
    job_id = jobs.enqueue("mail")
    assert jobs.claim(kinds=["report"]) == []
    assert jobs.claim_one(kinds=["report", "mail"]).job_id == job_id


def test_a_node_that_found_work_speaks_for_itself_only(db: Database, jobs: Session) -> None:
    neighbour = Session(db.connect(), node=NEIGHBOUR)
    for session in (jobs, neighbour):
        assert session.claim(10, wait=True, queues=["default", "mail"]) == []
    jobs.enqueue()
    assert len(jobs.claim(1, wait=True, queues=["default"])) == 1
    left = db.fetch("select node_id, queue from windlass_data.waiting", role="superuser")
    assert sorted((row.node_id, row.queue) for row in left) == [
        (NODE, "mail"),
        (NEIGHBOUR, "default"),
        (NEIGHBOUR, "mail"),
    ]


def test_the_tenant_of_a_callers_transaction_ends_with_it(jobs: Session) -> None:
    job_id = jobs.enqueue()
    with jobs.conn.transaction():
        jobs.call("select set_config('windlass.tenant_id', %s, true)", str(DEFAULT_TENANT))
        jobs.cancel(job_id)
        assert jobs.value("select current_setting('windlass.tenant_id')") == str(DEFAULT_TENANT)
    assert not jobs.value("select current_setting('windlass.tenant_id', true)")


@pytest.mark.parametrize("function", ENQUEUES)
def test_the_actor_of_one_call_does_not_act_in_the_next(db: Database, jobs: Session, function: str) -> None:
    with db.connect("superuser", autocommit=False) as conn:
        conn.execute("select set_config('windlass.actor', 'bob', true)")
        conn.execute(ENQUEUES[function].encode(), [jobs.tenant])
        assert conn.execute("select current_setting('windlass.actor')").fetchall() == [("bob",)]


def test_the_highest_priority_goes_first_however_many_lines_a_tenant_has(jobs: Session) -> None:
    for kind in range(6):
        jobs.enqueue(f"low{kind}")
    urgent = [jobs.enqueue("urgent", priority=9) for _ in range(10)]
    assert [row.job_id for row in jobs.claim(10)] == urgent


def test_a_survey_tells_which_lines_are_one(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    query = "select one_line from windlass.survey_lanes(%s, array['default']) where lane_id is not null"
    assert jobs.call(query, NODE) == [(False,)]
    strict = (
        "insert into windlass_data.queue (name, mode) values ('default', 'strict') "
        "on conflict (name) do update set mode = 'strict'"
    )
    db.execute(strict, role="superuser")
    assert jobs.call(query, NODE) == [(True,)]


@pytest.mark.parametrize(("floors", "marks"), [([], [1]), ([1], []), ([1, 2], [1, 2])])
def test_a_survey_needs_a_floor_and_a_mark_for_each_line(
    jobs: Session, floors: list[int], marks: list[int]
) -> None:
    query = (
        "select * from windlass.survey_lanes("
        "%s, array['default'], p_lanes => array[1], p_floors => %s::bigint[], p_marks => %s::bigint[])"
    )
    with refused("WL007"):
        jobs.call(query, NODE, floors, marks)


def test_a_redrive_waits_for_no_job_but_its_own(db: Database, jobs: Session) -> None:
    mine, held = jobs.enqueue(max_attempts=1), jobs.enqueue(max_attempts=1)
    jobs.fail(*jobs.claim(2))
    with db.connect("superuser", autocommit=False) as somebody:
        for table, column in (("job", "id"), ("attempt", "job_id")):
            text = f"select from windlass_data.{table} where {column} = %s for update"
            somebody.execute(text.encode(), [held])
        jobs.call("set lock_timeout = '2s'")
        assert jobs.call("select job_id from windlass.redrive_jobs(%s, %s)", jobs.tenant, [mine]) == [(mine,)]


def test_an_odd_number_is_not_rounded_up_between_two_tenants(jobs: Session, other: Session) -> None:
    for session in (jobs, other):
        for _ in range(4):
            session.enqueue()
    assert [len(jobs.claim(3)), len(jobs.claim(3)), len(jobs.claim(3))] == [3, 3, 2]


def test_another_tenants_job_with_the_same_id_is_another_job(
    db: Database, jobs: Session, other: Session
) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    other.enqueue(id=job_id)
    with db.connect("superuser", autocommit=False) as somebody:
        text = "select from windlass_data.job where tenant_id = %s and id = %s for update"
        somebody.execute(text.encode(), [OTHER_TENANT, job_id])
        assert [row.code for row in jobs.release(held)] == ["ok"]


def test_a_redrive_takes_back_its_own_key_and_no_other(jobs: Session) -> None:
    dead = jobs.enqueue("mail", key="k", max_attempts=1)
    jobs.fail(jobs.claim_one())
    namesake, neighbour = jobs.enqueue("report", key="k"), jobs.enqueue("mail", key="l")
    jobs.call("select windlass.redrive_jobs(%s, %s)", jobs.tenant, [dead])
    assert jobs.enqueue("report", key="k") == namesake
    assert jobs.enqueue("mail", key="l") == neighbour
    assert jobs.enqueue("mail", key="k") == dead


def test_each_job_is_shown_with_its_own_costs(jobs: Session) -> None:
    ids = [jobs.enqueue(), jobs.enqueue(), jobs.enqueue()]
    first, second, third = jobs.claim(3)
    jobs.cost((first, 100, "paper"), (second, 20, "ink"))
    jobs.complete(second, third, costs=[3, 4000])
    rows = jobs.call("select id, cost_cents from windlass.list_jobs(%s)", jobs.tenant)
    assert {row.id: row.cost_cents for row in rows} == dict(zip(ids, (100, 23, 4000), strict=True))


def test_where_nothing_was_said_of_anything_a_bound_worker_gets_its_own_tenants_jobs_only(
    db: Database, jobs: Session, other: Session
) -> None:
    theirs, mine = other.enqueue(), [jobs.enqueue(), jobs.enqueue("report")]
    bind = "insert into windlass_data.role_tenant values ('windlass_app', %s)"
    db.execute(bind, DEFAULT_TENANT, role="superuser")
    jobs.call("select windlass.heartbeat_node(%s, 'mine')", NODE)
    assert sorted(row.job_id for row in jobs.claim(10)) == sorted(mine)
    assert jobs.claim(10) == []
    assert db.fetch("select queue from windlass_data.waiting", role="superuser") == []
    db.execute("delete from windlass_data.role_tenant", role="superuser")
    assert jobs.claim_one().job_id == theirs
