"""seal_attempts: how attempts ended is chained in bulk; one that is altered, removed or inserted is named."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tests.sql.audit import Audit, seal, verify
from tests.sql.operate import NIL, call, events, kill
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, Session
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

MINUTE = timedelta(minutes=1)


def look(db: Database) -> int:
    (row,) = call(db, "seal_attempts")
    return int(row.seal_attempts)


def chain(db: Database, clock: Clock) -> int:
    """Have everything chained that has ended until now; how many attempts."""
    clock.advance(12 * MINUTE)
    assert look(db) == 0, "what just ended may not be all of it"
    clock.advance(MINUTE)
    sealed = look(db)
    seal(db)
    return sealed


def finish(jobs: Session, count: int = 1) -> list[UUID]:
    made = jobs.enqueue_many([{"kind": "mail", "payload": {}}] * count)
    jobs.complete(*jobs.claim(count), results=[{"sent": True}] * count)
    return [row.job_id for row in made]


@pytest.fixture
def audit(db: Database, jobs: Session, other: Session, clock: Clock) -> Audit:
    """Four jobs of one tenant in two windows, and one of another."""
    finish(jobs, 2)
    finish(other)
    assert chain(db, clock) == 3
    finish(jobs)
    kill(jobs)
    assert chain(db, clock) == 2
    assert [verify(db.connection(), tenant).fault for tenant in (DEFAULT_TENANT, OTHER_TENANT, NIL)] == [
        None
    ] * 3
    return Audit(db)


def found(audit: Audit, deed: str) -> set[tuple[str | None, str | None]]:
    """What a check says after this was done, whatever the size of its pages; then it never happened."""
    try:
        audit.do(deed)
        checks = [verify(audit.conn, limit=limit) for limit in (1, 3, 100)]
        return {(check.fault, check.message) for check in checks}
    finally:
        audit.conn.rollback()


COLUMNS = {
    "counted": "counted + 1",
    "node_id": "token",
    "token": "node_id",
    "started_at": "started_at - interval '1 microsecond'",
    "finished_at": "finished_at + interval '1 microsecond'",
    "outcome": "'released'",
    "ends": "'skipped'",
    "cost_cents": "1",
    "result": "'{}'",
    "error": "'{}'",
}


def test_an_altered_attempt_is_found_and_named(audit: Audit) -> None:
    for place, job in enumerate(ids(audit)):
        name = f"attempt 1 of job {job} was altered: it is not what was sealed"
        for column in COLUMNS if place == 0 else ("counted",):
            deed = f"update windlass_data.attempt set {column} = {COLUMNS[column]} where job_id = '{job}'"
            assert found(audit, deed) == {("attempt_altered", name)}, column


def test_a_removed_attempt_is_found_and_named_with_its_job_or_without(audit: Audit) -> None:
    for job in ids(audit):
        name = f"attempt 1 of job {job} was removed"
        deed = f"delete from windlass_data.attempt where job_id = '{job}'"
        assert found(audit, deed) == {("attempt_removed", name)}
        deed += f"; delete from windlass_data.job where id = '{job}'"
        assert found(audit, deed) == {("attempt_removed", name)}, "no retention took it"


def test_an_inserted_attempt_is_found_and_named(audit: Audit) -> None:
    for job in ids(audit):
        deed = (
            "insert into windlass_data.attempt"
            " (tenant_id, job_id, version, counted, node_id, token, started_at, finished_at, outcome)"
            " select tenant_id, job_id, 7, 7, node_id, token, started_at, finished_at,"
            f" outcome from windlass_data.attempt where job_id = '{job}'"
        )
        name = f"attempt 7 of job {job} was inserted: it is not among those that were sealed"
        assert found(audit, deed) == {("attempt_inserted", name)}


def test_the_lists_themselves_are_watched(audit: Audit) -> None:
    for deed, fault in (
        ("update windlass_data.attempt_page set page = page || page", "list_altered"),
        ("update windlass_data.attempt_page set page = set_byte(page, 30, 0)", "list_altered"),
        ("delete from windlass_data.attempt_page", "list_removed"),
        ("delete from windlass_data.attempt_page; delete from windlass_data.attempt", "list_removed"),
    ):
        assert {fault for fault, _ in found(audit, deed)} == {fault}, deed
    with pytest.raises(Exception, match="only added to"):
        audit.db.execute("update windlass_data.attempt_page set page = ''", role="superuser")


def ids(audit: Audit) -> list[UUID]:
    query = "select job_id from windlass_data.attempt where tenant_id = %s order by job_id"
    return [row.job_id for row in audit.db.fetch(query, DEFAULT_TENANT, role="superuser")]


def test_a_redrive_and_what_follows_is_no_fault(
    db: Database, jobs: Session, audit: Audit, clock: Clock
) -> None:
    call(db, "redrive_jobs", tenant=DEFAULT_TENANT, everything=True)
    assert verify(db.connection()).fault is None
    jobs.complete(jobs.claim_one())
    assert verify(db.connection()).fault is None
    assert chain(db, clock) == 1
    assert verify(db.connection(), limit=1).fault is None


def test_what_retention_took_is_no_fault_and_its_list_goes_too(
    db: Database, jobs: Session, audit: Audit, clock: Clock
) -> None:
    prune = "select * from windlass.prune_jobs('3 hours', '3 hours', '3 hours', null)"
    clock.advance(190 * MINUTE)
    assert chain(db, clock) == 0
    finish(jobs)
    pruned = db.fetch_row(prune)
    # Three hours on is tomorrow in the evening: then the day goes as a whole.
    assert (pruned.removed, len(pruned.dropped)) in ((4, 0), (0, 1))
    assert verify(db.connection(), limit=1).fault is None, "the dead one is kept, and so is its list"
    assert chain(db, clock) == 1
    pages = db.fetch("select tenant_id from windlass_data.attempt_page", role="superuser")
    assert [page.tenant_id for page in pages] == [DEFAULT_TENANT] * 2
    assert [verify(db.connection(), tenant, limit=1).fault for tenant in (DEFAULT_TENANT, OTHER_TENANT)] == [
        None
    ] * 2
    assert [action for (action,) in events(db, NIL, "action")] == ["jobs.prune"]
    young = "delete from windlass_data.attempt where version = 1; delete from windlass_data.job"
    assert {fault for fault, _ in found(audit, young)} == {"attempt_removed"}, "too young for retention"


def test_an_open_transaction_is_waited_for(db: Database, jobs: Session, clock: Clock) -> None:
    jobs.enqueue_many([{"kind": "mail", "payload": {}}] * 2)
    first, second = jobs.claim(2)
    slow = Session(db.connect(autocommit=False))
    slow.finish(first)
    jobs.complete(second)
    clock.advance(12 * MINUTE)
    look(db)
    clock.advance(MINUTE)
    assert look(db) == 0, "it may still commit, with a time of its end that has passed"
    slow.conn.commit()
    clock.advance(MINUTE)
    assert look(db) == 2
    seal(db)
    assert verify(db.connection()).fault is None


def test_a_clock_that_was_set_back_raises_no_false_alarm(db: Database, jobs: Session, clock: Clock) -> None:
    finish(jobs)
    assert chain(db, clock) == 1
    clock.advance(timedelta(hours=-1))
    assert look(db) == 0
    finish(jobs)
    assert verify(db.connection()).fault is None
    assert [action for (action,) in events(db, NIL, "action")] == ["clock.back"]
    assert look(db) == 0
    assert [action for (action,) in events(db, NIL, "action")] == ["clock.back"], "once is enough"


def test_few_attempts_share_a_window_and_many_are_cut(db: Database, jobs: Session, clock: Clock) -> None:
    finish(jobs)
    assert chain(db, clock) == 1
    finish(jobs)
    for _ in range(4):
        clock.advance(timedelta(seconds=40))
        assert look(db) == 0, "another minute, another attempt: one event for both"
    assert chain(db, clock) == 1
    assert len(events(db, DEFAULT_TENANT, "action")) == 2
    assert call(db, "seal_attempts", role="worker") is not None


def test_who_comes_after_days_catches_up_in_pieces(db: Database, jobs: Session, clock: Clock) -> None:
    """Never all of it counted at once: the look ahead is bounded, and passes over times without an end."""
    finish(jobs)
    assert chain(db, clock) == 1
    for _ in range(3):
        clock.advance(timedelta(days=1))
        finish(jobs, 2)
    clock.advance(12 * MINUTE)
    assert look(db) == 0
    clock.advance(MINUTE)
    sealed = [look(db) for _ in range(3)]
    assert sealed == [2, 2, 2], "a day each, in less than as many calls as a day has windows"
    seal(db)
    assert verify(db.connection()).fault is None
    assert chain(db, clock) == 0
    finish(jobs)
    assert chain(db, clock) == 1


def test_the_digest_of_an_attempt_is_the_same_everywhere(db: Database) -> None:
    """Anybody can compute it: ids, numbers and times in binary, then a JSON array of texts."""
    job, node, token = (UUID(f"01890a5d-ac96-774b-bcce-b302099a805{n}") for n in (7, 8, 9))
    conn = db.connect("superuser")
    conn.execute("set timezone = 'Asia/Kathmandu'; set datestyle = 'German'; set bytea_output = 'escape'")
    query = (
        "select encode(windlass_data.attempt_digest(row(%s, %s, 3, 2, %s, %s, '2024-02-29 23:59:59.1+02',"
        " '2024-03-01 00:00:00+02', 'failed', 'dead', 12, null, %s)::windlass_data.attempt), 'hex')"
    )
    given = (DEFAULT_TENANT, job, node, token, json.dumps({"type": "é", "n": 1.50}))
    ((found,),) = conn.execute(query.encode(), given).fetchall()
    since = datetime(2024, 2, 29, 21, 59, 59, 100_000, UTC) - datetime(2000, 1, 1, tzinfo=UTC)
    start = since // timedelta(microseconds=1)
    numbers = (3).to_bytes(4) + (2).to_bytes(4)
    times = start.to_bytes(8) + (start + 900_000).to_bytes(8)
    ids = (DEFAULT_TENANT.bytes + job.bytes, node.bytes + token.bytes)
    rest = ["windlass attempt 1", "failed", None, "12", None, '{"n": 1.5, "type": "é"}']
    said = ids[0] + numbers + ids[1] + times + json.dumps(rest, ensure_ascii=False).encode()
    assert found == hashlib.sha256(said).digest()[:16].hex()
