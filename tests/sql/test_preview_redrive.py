"""preview_redrive: what a redrive would be for, a bounded page at a time; nothing is changed."""

from uuid import UUID

import pytest

from tests.sql.operate import bind, call, callers, kill
from tests.sql.redrives import kill_many, preview
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version


def test_a_preview_counts_all_shows_a_few_and_changes_nothing(db: Database, jobs: Session) -> None:
    dead = kill_many(jobs, 30, payload={"a": 1, "b": {"c": 2}})
    kill(jobs, kind="report")
    with nothing_changed(db):
        found = preview(db, kinds=["mail"], sample=2, patch='{"b": {"c": null, "d": 3}}')
    assert (found.matched, found.cursor) == (30, None)
    assert [UUID(job["id"]) for job in found.sample] == dead[:2]
    job = found.sample[0]
    assert (job["kind"], job["queue"], job["attempts"]) == ("mail", "default", 1)
    assert job["error"] == {"type": "ValueError", "message": "no such address"}
    assert (job["payload"], job["patched"]) == ({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"d": 3}})
    assert preview(db, kinds=["mail"], after=dead[9]).matched == 20
    plain = preview(db, everything=True, sample=0)
    assert (plain.matched, plain.sample) == (31, [])
    assert preview(db, everything=True).sample[0]["patched"] is None


def test_a_page_of_a_preview_is_bounded(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    db.execute(
        "with made as (select windlass_data.new_id() as id from generate_series(1, 20500)), written as ("
        " insert into windlass_data.job (tenant_id, id, lane_id, max_attempts, created_at, payload)"
        " select %(tenant)s, m.id, (select min(id) from windlass_data.lane), 1, now(), '{}' from made as m)"
        " insert into windlass_data.attempt (tenant_id, job_id, version, counted, node_id, token, started_at,"
        " finished_at, outcome, ends)"
        " select %(tenant)s, m.id, 1, 1, m.id, m.id, now(), now(), 'failed', 'dead' from made as m".replace(
            "%(tenant)s", f"'{DEFAULT_TENANT}'"
        ),
        role="superuser",
    )
    first = preview(db, everything=True, sample=1)
    assert first.matched == 20000
    second = preview(db, everything=True, after=first.cursor, sample=1)
    assert (second.matched, second.cursor) == (500, None)


def test_operators_look_at_their_own_dead(db: Database, jobs: Session, other: Session) -> None:
    kill(other, payload={"secret": 1})
    kill(jobs)
    jobs.enqueue()
    found = preview(db, everything=True)
    assert (found.matched, len(found.sample)) == (1, 1)
    assert "secret" not in str(found.sample)
    for sample in (-1, 101, None):
        with refused("WL007", "a sample has"):
            preview(db, everything=True, sample=sample)
    with refused("WL007", "needs a filter"):
        preview(db)
    with refused("WL005", "no tenant given"):
        call(db, "preview_redrive", tenant=None, everything=True)
    assert callers(db, "preview_redrive", tenant=DEFAULT_TENANT, everything=True) == {"operator"}
    bind(db, "operator", DEFAULT_TENANT)
    with refused("WL005", "another tenant"):
        call(db, "preview_redrive", role="operator", tenant=OTHER_TENANT, everything=True)


def test_where_nothing_is_dead_there_is_nothing_to_show(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    assert tuple(preview(db, everything=True)) == (0, None, [])
