"""create_cluster_job: the job out of reach, a part per member, and what a duplicate gets."""

from typing import Any

import pytest

from tests.sql.cluster import KIND, QUEUE, Cluster
from tests.sql.operate import call
from tests.sql.steps import DEFAULT_TENANT, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version


def test_a_job_that_waits_for_its_parts_is_queued_and_not_scheduled(db: Database) -> None:
    cluster = Cluster(db, "a")
    job_id = cluster.create()
    (row,) = call(db, "get_job", tenant=DEFAULT_TENANT, job=job_id)
    assert (row.state, row.run_at) == ("queued", row.created_at)
    listed = [
        row.id
        for state in ("queued", "scheduled", "retrying")
        for row in call(db, "list_jobs", tenant=DEFAULT_TENANT, states=[state])
    ]
    assert listed == [job_id]
    survey, *_ = call(db, "survey_lanes", node=cluster.ids["a"], queues=[QUEUE])
    assert survey.due_from is None, "nothing falls due"
    call(db, "reschedule_job", tenant=DEFAULT_TENANT, job=job_id, run_at="2100-01-01Z")
    assert [row.id for row in call(db, "list_jobs", tenant=DEFAULT_TENANT, states=["scheduled"])] == [job_id]


def test_whether_there_are_parts_is_as_the_leader_declares(db: Database) -> None:
    cluster = Cluster(db, "a", "b")
    cluster.tend("a", local=())
    assert cluster.create_row().parts == 0
    cluster.tend("a")
    assert cluster.create_row().parts == 2
    cluster.tend("b", local=())  # it acts where it leads, and has no part
    assert cluster.create_row().parts == 1


def test_the_same_active_key_gives_the_same_job_until_that_has_ended(db: Database) -> None:
    cluster = Cluster(db, "a", "b")
    first = cluster.create_row(key="k")
    again = cluster.create_row(key="k")
    assert (again.job_id, again.created, again.parts, again.needed) == (first.job_id, False, 2, 2)
    with refused("WL002"):
        cluster.create(key="k", payload='{"other": 1}')
    cluster.do("a")
    cluster.do("b")
    cluster.act("a")
    assert cluster.create(key="k") != first.job_id


def test_a_duplicate_writes_nothing(db: Database) -> None:
    cluster = Cluster(db, "a", "b")
    cluster.create(key="k")
    with nothing_changed(db):
        cluster.create(key="k")


def test_a_hundred_parts_are_one_statement(db: Database) -> None:
    cluster = Cluster(db, "a")
    db.execute(
        "insert into windlass_data.node (id, name, host, pid, version, queues, kinds, concurrency,"
        " started_at, heartbeat_at, local_kinds, member_until) select gen_random_uuid(), 'n' || i, '', 0,"
        " '', '{}', '{}', 1, now(), now(), array[%s], now() + interval '1 hour'"
        " from generate_series(1, 99) as i",
        KIND,
        role="superuser",
    )
    row = cluster.create_row()
    assert (row.parts, row.needed) == (100, 51)


WRONG: list[dict[str, Any]] = [
    {"quorum": "most"},
    {"quorum_timeout_ms": 0},
    {"on_timeout": "hope"},
    {"on_crash": "ignore"},
    {"part_max_attempts": 0},
    {"part_retry": '{"base": -1}'},
    {"max_attempts": 0},
    {"payload": None},
]


@pytest.mark.parametrize("wrong", WRONG, ids=[next(iter(wrong)) for wrong in WRONG])
def test_bad_input_is_refused(db: Database, wrong: dict[str, Any]) -> None:
    cluster = Cluster(db, "a")
    with nothing_changed(db), refused("WL007"):
        cluster.create(**wrong)
