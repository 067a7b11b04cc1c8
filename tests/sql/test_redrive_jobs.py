"""redrive_jobs: dead jobs brought back, by name and by filter, once each, and no other."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from tests.sql.operate import bind, call, events, kill, waiting
from tests.sql.redrives import Runner, create, kill_many
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.sql.two import Running
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def redrive(db: Database, tenant: UUID = DEFAULT_TENANT, **arguments: Any) -> list[UUID]:
    if "jobs" in arguments:
        arguments["jobs"] = list(arguments["jobs"])
    return [row.job_id for row in call(db, "redrive_jobs", tenant=tenant, **arguments)]


def test_a_dead_job_gets_all_its_attempts_again(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue(max_attempts=2)
    for _ in range(2):
        jobs.fail(jobs.claim_one(), delays=[0], errors=[{"type": "Boom", "message": "no"}])
    assert jobs.state(job_id) == "dead"
    (row,) = call(db, "redrive_jobs", tenant=DEFAULT_TENANT, jobs=[job_id])
    assert (row.job_id, row.kind, row.queue) == (job_id, "mail", "default")
    assert row.error == {"type": "Boom", "message": "no"}
    job = jobs.get(job_id)
    assert (job.state, job.version, job.counted, job.finished_at) == ("queued", 2, 0, None)
    assert_whole(db)
    claimed = jobs.claim_one()
    assert (claimed.job_id, claimed.version, claimed.counted, claimed.max_attempts) == (job_id, 3, 0, 2)
    jobs.fail(claimed, delays=[0])
    assert jobs.state(job_id) == "queued"
    jobs.fail(jobs.claim_one())
    assert (jobs.state(job_id), jobs.get(job_id).version) == ("dead", 4)
    assert_whole(db)


def test_a_redriven_job_can_succeed_and_dies_no_more(db: Database, jobs: Session) -> None:
    job_id = kill(jobs)
    redrive(db, jobs=[job_id])
    jobs.complete(jobs.claim_one(), results=[{"sent": True}])
    assert (jobs.state(job_id), jobs.get(job_id).result) == ("succeeded", {"sent": True})
    with refused("WL004", "is succeeded"):
        redrive(db, jobs=[job_id])
    assert_whole(db)


def test_max_attempts_can_be_changed(db: Database, jobs: Session) -> None:
    job_id = kill(jobs)
    redrive(db, jobs=[job_id], max_attempts=7)
    assert jobs.get(job_id).max_attempts == 7


def test_jobs_come_back_in_their_old_order_behind_what_waits(db: Database, jobs: Session) -> None:
    dead = sorted(kill(jobs) for _ in range(3))
    waits = jobs.enqueue()
    assert redrive(db, jobs=[dead[2], dead[0], dead[1], dead[0]]) == dead
    assert [row.job_id for row in jobs.claim(9)] == [waits, *dead]


def test_a_dry_run_names_the_same_jobs_and_writes_nothing(db: Database, jobs: Session) -> None:
    dead = sorted(kill(jobs) for _ in range(3))
    with nothing_changed(db):
        assert redrive(db, dry_run=True) == dead
        assert redrive(db, jobs=dead[1:], dry_run=True) == dead[1:]
        assert redrive(db, dry_run=True, limit=2) == dead[:2]
    assert redrive(db, limit=2, everything=True) == dead[:2]
    assert redrive(db, everything=True) == dead[2:]
    assert redrive(db, everything=True) == []
    assert_whole(db)


def test_filters(db: Database, jobs: Session, clock: Clock) -> None:
    start = clock.now()
    mail = kill(jobs, error={"type": "Timeout", "message": "took 100% of the time"})
    clock.advance(timedelta(hours=1))
    slow = kill(jobs, kind="report", queue="slow", error={"type": "ValueError", "message": "bad_name"})
    clock.advance(timedelta(hours=1))
    bare = kill(jobs, kind="bare", error={"other": 1})
    cases: list[tuple[dict[str, Any], list[UUID]]] = [
        ({"kinds": ["report", "none"]}, [slow]),
        ({"queues": ["default"]}, [mail, bare]),
        ({"kinds": ["mail"], "queues": ["slow"]}, []),
        ({"error_like": "%100\\%%"}, [mail]),
        ({"error_like": "TIMEOUT"}, [mail]),
        ({"error_like": "bad_name"}, [slow]),
        ({"error_like": "bad\\_%"}, [slow]),
        ({"error_like": "took"}, []),
        ({"error_like": "timeout: took 100%"}, [mail]),
        ({"error_like": "%"}, [mail, slow]),
        ({"finished_from": start + timedelta(minutes=30)}, [slow, bare]),
        ({"finished_to": start + timedelta(minutes=30)}, [mail]),
        (
            {
                "finished_from": start + timedelta(minutes=30),
                "finished_to": start + timedelta(minutes=90),
            },
            [slow],
        ),
        ({}, [mail, slow, bare]),
    ]
    for filters, expected in cases:
        assert redrive(db, dry_run=True, **filters) == sorted(expected), filters
    assert redrive(db, error_like="bad\\_name") == [slow]
    assert jobs.state(slow) == "queued"
    assert (jobs.state(mail), jobs.state(bare)) == ("dead", "dead")


def test_one_event_per_job_tells_who_why_and_how_it_had_died(db: Database, jobs: Session) -> None:
    dead = sorted(kill(jobs) for _ in range(2))
    redrive(db, everything=True, reason="mail server is back", actor="ada")
    told = sorted(events(db, DEFAULT_TENANT)[2:], key=lambda event: event[2])
    assert told == [("ada", "job.redrive", job_id, "mail server is back") for job_id in dead]
    (_, _, (details,), _) = events(db, DEFAULT_TENANT, "details")
    assert (details["version"], details["counted"], details["error"]) == (1, 1, "ValueError")
    assert "died_at" in details


def test_a_named_job_that_is_not_dead_stops_everything(db: Database, jobs: Session) -> None:
    dead, queued = kill(jobs), jobs.enqueue("other")
    running, canceled = jobs.enqueue("run"), jobs.enqueue("stop")
    jobs.claim_one(kinds=["run"])
    jobs.cancel(canceled)
    succeeded, skipped = jobs.enqueue("done"), jobs.enqueue("done")
    jobs.complete(*jobs.claim(2, kinds=["done"]), states=["succeeded", "skipped"])
    states = {
        queued: "queued",
        running: "running",
        canceled: "canceled",
        succeeded: "succeeded",
        skipped: "skipped",
    }
    for job_id, state in states.items():
        for dry_run in (False, True):
            with nothing_changed(db), refused("WL004", f"{job_id} is {state}"):
                redrive(db, jobs=[dead, job_id], dry_run=dry_run)
    with nothing_changed(db), refused("WL001", f"there is no job {UNKNOWN}"):
        redrive(db, jobs=[dead, UNKNOWN])
    assert redrive(db, jobs=[]) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"everything": None},
        {"everything": True, "kinds": ["mail"]},
        {"everything": True, "limit": 0},
        {"everything": True, "limit": 10_001},
        {"everything": True, "limit": None},
        {"jobs": [UNKNOWN, UNKNOWN], "limit": 1},
        {"jobs": [UNKNOWN], "kinds": ["mail"]},
        {"everything": True, "max_attempts": 0},
        {"everything": True, "max_attempts": 32768},
        {"error_like": "\\"},
        {"error_like": ""},
        {"error_like": "x" * 201},
        {"error_like": "ends\\\\\\"},
    ],
)
def test_bad_input_is_refused(db: Database, jobs: Session, wrong: dict[str, Any]) -> None:
    kill(jobs)
    with nothing_changed(db), refused("WL007"):
        redrive(db, **wrong)


def test_foreign_and_unknown_jobs_get_the_same_answer(db: Database, jobs: Session, other: Session) -> None:
    foreign = kill(other)
    mine = kill(jobs)
    with nothing_changed(db), refused("WL001", f"there is no job {foreign}"):
        redrive(db, jobs=[foreign])
    assert redrive(db, dry_run=True, limit=1) == [mine]
    bind(db, "operator", OTHER_TENANT)
    with nothing_changed(db), refused("WL005"):
        redrive(db, role="operator", everything=True)
    assert redrive(db, OTHER_TENANT, role="operator", everything=True) == [foreign]
    assert jobs.state(mine) == "dead"
    assert_whole(db)


def test_a_redrive_takes_the_job_and_then_looks_again(db: Database, jobs: Session) -> None:
    """In the order of all locks; and a job that has died again, of something else, was not asked for."""
    job_id = kill(jobs, error={"type": "Boom", "message": "no"})
    holder = db.connect("superuser", autocommit=False)
    holder.execute("select from windlass_data.job where id = %s for no key update", [job_id])
    filtered = "select job_id from windlass.redrive_jobs(%s, p_error_like => 'Boom')"
    running = Running(db, jobs, lambda session: session.call(filtered, session.tenant))
    assert running.waits()
    holder.execute("select from windlass_data.attempt where job_id = %s for update nowait", [job_id])
    other = Jsonb({"type": "Other"})
    holder.execute("update windlass_data.attempt set error = %s where job_id = %s", [other, job_id])
    holder.commit()
    assert running.result() == []
    assert jobs.state(job_id) == "dead"


def test_a_cancel_that_came_too_late_does_not_meet_the_revived_job(db: Database, jobs: Session) -> None:
    """A transaction with an old snapshot sees it running, and asks for what its new life knows nothing of."""
    job_id = jobs.enqueue(max_attempts=1)
    held = jobs.claim_one()
    late = Session(db.connect(autocommit=False))
    late.call("set transaction isolation level repeatable read")
    assert late.state(job_id) == "running"
    jobs.fail(held)
    late.call("select windlass.cancel_job(%s, %s)", jobs.tenant, job_id)
    late.conn.commit()
    assert redrive(db, jobs=[job_id]) == [job_id]
    again = jobs.claim_one()
    assert not jobs.get(job_id).cancel_requested
    assert jobs.fail(again)[0].state == "dead"


@pytest.mark.parametrize("named", [True, False])
def test_two_redrives_at_once_queue_the_job_once(db: Database, jobs: Session, named: bool) -> None:
    job_id = kill(jobs)
    which = [job_id] if named else None
    first, second = Session(db.connect(autocommit=False)), Session(db.connect())
    query = "select job_id from windlass.redrive_jobs(%s, %s, p_everything => %s)"
    assert len(first.call(query, DEFAULT_TENANT, which, not named)) == 1
    with waiting(db, second.conn, lambda: second.call(query, DEFAULT_TENANT, which, not named)) as again:
        first.conn.commit()
        if named:
            with refused("WL004", "is queued"):
                again.result()
        else:
            assert again.result() == []
    assert_whole(db)
    assert len(jobs.claim(9)) == 1
    assert [action for (action,) in events(db, DEFAULT_TENANT, "action")] == ["job.dead", "job.redrive"]


def test_a_redrive_rolled_back_leaves_the_job_to_the_next(db: Database, jobs: Session) -> None:
    job_id = kill(jobs)
    first, second = Session(db.connect(autocommit=False)), Session(db.connect())
    query = "select job_id from windlass.redrive_jobs(%s, p_everything => true)"
    first.call(query, DEFAULT_TENANT)
    with waiting(db, second.conn, lambda: second.call(query, DEFAULT_TENANT)) as again:
        first.conn.rollback()
        assert [row.job_id for row in again.result()] == [job_id]
    assert_whole(db)


def test_those_who_wait_are_woken(db: Database, jobs: Session) -> None:
    kill(jobs, queue="slow")
    jobs.claim(1, queues=["slow"], wait=True)
    listener = db.connect()
    listener.execute("listen windlass")
    redrive(db, everything=True)
    (notice,) = listener.notifies(timeout=10, stop_after=1)
    assert notice.payload == str(jobs.node)


def test_a_key_that_moved_on_holds_the_dead_back(db: Database, jobs: Session) -> None:
    dead = kill(jobs, key="x", scope="active")
    alive = jobs.enqueue("mail", key="x", scope="active")
    assert alive != dead
    with refused("WL002", "which has not ended"):
        redrive(db, jobs=[dead])
    assert redrive(db, everything=True) == []
    jobs.complete(jobs.claim_one())
    assert redrive(db, everything=True) == [dead]
    assert not jobs.enqueue_row("mail", {}, key="x", scope="active").created
    assert_whole(db)


def test_a_filter_never_means_jobs_of_windlass_itself(db: Database, jobs: Session) -> None:
    dead = kill_many(jobs, 2)
    background = create(db, everything=True)
    while jobs.state(background) != "dead":
        jobs.fail(Runner(jobs).held, delays=[0], errors=[{"type": "Boom", "message": "no"}])
    assert redrive(db, dry_run=True) == dead
    assert redrive(db, queues=["windlass.system"]) == []
    assert redrive(db, jobs=[background]) == [background]
