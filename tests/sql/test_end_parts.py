"""end_parts: every word about a running part is answered by itself, and a late one changes nothing."""

import json
from typing import Any

import pytest

from tests.sql.cluster import Cluster
from tests.sql.operate import bind, call, callers, events
from tests.sql.steps import DEFAULT_TENANT, UNKNOWN, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version

END = """select job_id, code, state from windlass.end_parts(%s::uuid[], %s::uuid[], %s::text[],
  %s::text[]::jsonb[], %s::text[]::jsonb[], %s::float8[])"""


def test_a_batch_is_answered_word_by_word(db: Database) -> None:
    cluster = Cluster(db, "a", "b", "c")
    made = sorted(cluster.create(on_timeout="wait") for _ in range(4))
    parts = {part.job_id: part for part in cluster.claim("a")}
    tokens = [parts[made[0]].token, parts[made[1]].token, UNKNOWN, parts[made[3]].token]
    error = json.dumps({"type": "Oops", "message": "it broke"})
    rows = db.fetch(
        END,
        tokens,
        made,
        ["succeeded", "failed", "succeeded", "skipped"],
        [json.dumps({"freed": 7}), None, None, None],
        [None, error, None, None],
        None,
    )
    assert [tuple(row) for row in rows] == [
        (made[0], "ok", "succeeded"),
        (made[1], "ok", "queued"),
        (made[2], "lease_lost", None),
        (made[3], "ok", "skipped"),
    ]
    assert [cluster.parts(job)["a"] for job in made] == ["succeeded", "retrying", "running", "skipped"]
    found = [next(part for part in cluster.get(job).parts if part["node_name"] == "a") for job in made]
    assert (found[0]["result"], found[1]["error"]["type"]) == ({"freed": 7}, "Oops")
    assert_whole(db)


@pytest.mark.parametrize("outcome", ["failed", "timed_out", "canceled"])
def test_what_fails_for_good_ends_the_part_with_its_reason(db: Database, outcome: str) -> None:
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create(part_max_attempts=1, on_timeout="wait")
    state = cluster.do("a", outcome)
    assert state == ("canceled" if outcome == "canceled" else "failed")
    assert cluster.parts(job_id)["a"] == state
    assert cluster.claim("a") == []
    assert events(db, DEFAULT_TENANT, "action", "job_id")[-1][1] == job_id


def test_a_delay_overrides_the_wait_of_the_policy(db: Database) -> None:
    db.clock.freeze()
    cluster = Cluster(db, "a")
    cluster.create(part_retry='{"base": 5, "jitter": "none"}', on_timeout="wait")
    cluster.do("a", "failed", delays=[60.0])
    db.clock.advance(59)
    assert cluster.claim("a") == []
    db.clock.advance(1)
    assert len(cluster.claim("a")) == 1


WRONG: list[dict[str, Any]] = [
    {"tokens": [UNKNOWN], "jobs": []},
    {"tokens": None, "jobs": [UNKNOWN]},
    {"tokens": [UNKNOWN], "jobs": None},
    {"tokens": [UNKNOWN], "jobs": [UNKNOWN], "outcomes": ["crashed"]},
    {"tokens": [UNKNOWN], "jobs": [UNKNOWN], "outcomes": ["dead"]},
    {"tokens": [UNKNOWN], "jobs": [UNKNOWN], "delays": [-1.0]},
    {"tokens": [UNKNOWN], "jobs": [UNKNOWN], "delays": [float("nan")]},
]


def test_words_that_make_no_sense_are_refused(db: Database) -> None:
    cluster = Cluster(db, "a")
    cluster.create()
    cluster.claim("a")
    with nothing_changed(db):
        for words in WRONG:
            with refused("WL007"):
                call(db, "end_parts", **words)
        assert db.fetch("select 1 from windlass.end_parts('{}', '{}')") == []


def test_workers_speak_and_none_that_is_bound_to_a_tenant(db: Database) -> None:
    cluster = Cluster(db, "a")
    cluster.create()
    (part,) = cluster.claim("a")
    words = {"tokens": [part.token], "jobs": [part.job_id]}
    assert callers(db, "end_parts", **words) == {"worker"}
    bind(db, "worker", DEFAULT_TENANT)
    with nothing_changed(db), refused("WL005"):
        call(db, "end_parts", role="worker", **words)
