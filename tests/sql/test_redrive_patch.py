"""A redrive with a patch: what becomes of payloads and keys, and what the audit keeps of it."""

import json

import pytest

from tests.sql.operate import call, kill
from tests.sql.redrives import Runner, counts, create, get
from tests.sql.steps import DEFAULT_TENANT, Session, refused
from tests.sql.whole import assert_whole
from tests.support import Database

pytestmark = pytest.mark.every_version

PATCH = {"to": {"zip": "1010", "old": None}, "relay": "b"}


def test_a_patch_changes_the_payload_and_the_audit_keeps_how(db: Database, jobs: Session) -> None:
    dead = [kill(jobs, payload={"to": {"old": 1, "name": "Ada"}, "n": n}) for n in range(3)]
    redrive = create(db, kinds=["mail"], patch=PATCH)
    runner = Runner(jobs)
    turn = runner.tend()
    patched = [{"n": n, "relay": "b", "to": {"zip": "1010", "name": "Ada"}} for n in range(3)]
    assert (turn.kind, [json.loads(payload) for payload in turn.payloads]) == ("mail", patched)
    assert runner.move(turn, refused={dead[1]: "to.zip must be a whole number"}) == 2
    runner.run()
    assert counts(db, redrive) == ("done", 2, 1, 0)
    assert get(db, redrive).refusals == [{"job_id": str(dead[1]), "why": "to.zip must be a whole number"}]
    assert [jobs.get(job).payload for job in dead] == [
        patched[0],
        {"to": {"old": 1, "name": "Ada"}, "n": 1},
        patched[2],
    ]
    assert [jobs.state(job) for job in dead] == ["queued", "dead", "queued"]
    history = call(db, "list_history", tenant=DEFAULT_TENANT, job=dead[0])
    details = next(fact.details for fact in history if fact.what == "redriven")
    assert (details["patch"], details["redrive"]) == (PATCH, str(redrive))
    digest = (
        "select encode(sha256(convert_to(payload::text, 'UTF8')), 'hex') from windlass_data.job where id = %s"
    )
    assert details["payload_after"] == db.fetch_value(digest, dead[0], role="superuser")
    assert details["payload_before"] != details["payload_after"]
    assert "Ada" not in json.dumps(details), "the payload itself is not kept"
    assert_whole(db)


def test_a_payload_that_would_grow_too_large_is_left_as_it_is(db: Database, jobs: Session) -> None:
    job = kill(jobs, payload={"text": "x" * 1_045_000})
    redrive = create(db, kinds=["mail"], patch={"more": "y" * 8000})
    Runner(jobs).run()
    assert counts(db, redrive) == ("done", 0, 0, 1)
    assert "more" not in jobs.get(job).payload


def test_how_large_a_patched_payload_may_be_is_counted_as_it_is_written(db: Database, jobs: Session) -> None:
    job = kill(jobs, payload={"numbers": [1] * 500_000})
    redrive = create(db, kinds=["mail"], patch={"more": 1})
    Runner(jobs).run()
    assert counts(db, redrive) == ("done", 1, 0, 0)
    assert jobs.get(job).payload["more"] == 1


def test_the_keys_of_patched_jobs_are_what_the_runner_says(db: Database, jobs: Session) -> None:
    dead = [kill(jobs, payload={"n": n}, concurrency_key=key) for n, key in enumerate(("a", "b", None))]
    create(db, kinds=["mail"], patch={"more": 1})
    runner = Runner(jobs)
    turn = runner.tend()
    move = "select windlass.move_redrive(%s, %s, %s, %s, %s::uuid[], p_keys => %s, p_key_limit => 3)"
    words = (runner.held.token, runner.held.job_id, turn.after, turn.upto, turn.jobs)
    for wrong in (["x"], ["x", "", "y"], ["x", "y" * 501, "z"]):
        with refused("WL007", "concurrency key"):
            jobs.call(move, *words, wrong)
    assert jobs.value(move, *words, ["b", None, "c"]) == 3
    found = [jobs.get(job) for job in dead]
    assert [job.concurrency_key for job in found] == ["b", None, "c"]
    assert [job.concurrency_limit for job in found] == [1, None, 3]
    first = jobs.claim(10, queues=["default"])
    assert {row.job_id for row in first} == set(dead)
    assert_whole(db)
