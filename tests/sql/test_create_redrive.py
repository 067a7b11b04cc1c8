"""create_redrive: what can be meant and what is refused, as a preview has it too; said twice it is one."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.sql.operate import call, events, kill
from tests.sql.redrives import create, get, preview
from tests.sql.steps import DEFAULT_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version

# The examples of RFC 7396, appendix A: the document, the patch, the result.
RFC_7396 = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


def test_the_examples_of_rfc_7396(db: Database) -> None:
    query = "select windlass._merge_patch(%s, %s)"
    for target, patch, expected in RFC_7396:
        merged = db.fetch_value(query, json.dumps(target), json.dumps(patch), role="superuser")
        assert merged == expected, (target, patch)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "needs a filter"),
    ({"everything": True, "kinds": ["mail"]}, "needs a filter"),
    ({"everything": None, "kinds": ["mail"]}, "needs a filter"),
    ({"kinds": []}, "1 to 100 kinds"),
    ({"kinds": [None]}, "1 to 100 kinds"),
    ({"queues": ["q"] * 101}, "1 to 100 kinds"),
    ({"jobs": []}, "1 to 10000 ids"),
    ({"error_like": ""}, "1 to 200 characters"),
    ({"error_like": "x" * 201}, "1 to 200 characters"),
    ({"error_like": "ends\\"}, "ends in an escape"),
    (
        {"died_from": datetime(2030, 1, 2, tzinfo=UTC), "died_to": datetime(2030, 1, 1, tzinfo=UTC)},
        "begins after",
    ),
    ({"kinds": ["mail"], "patch": "[1]"}, "JSON object"),
    ({"kinds": ["mail"], "patch": "null"}, "JSON object"),
    ({"kinds": ["mail"], "patch": json.dumps({"x": "y" * 8192})}, "8192 bytes"),
    ({"everything": True, "patch": "{}"}, "one kind"),
    ({"kinds": ["mail", "report"], "patch": "{}"}, "one kind"),
]
WRONG_RUNS: list[tuple[dict[str, Any], str]] = [
    ({"throttle": 0.0}, "throttle from"),
    ({"throttle": -1.0}, "throttle from"),
    ({"throttle": float("nan")}, "throttle from"),
    ({"stop_rate": 1.01}, "stop_rate from 0 to 1"),
    ({"stop_rate": -0.01}, "stop_rate from 0 to 1"),
    ({"stop_after": 0}, "stop_after"),
    ({"stop_after": None}, "stop_after"),
    ({"max_attempts": 0}, "max_attempts"),
    ({"max_attempts": 40000}, "max_attempts"),
    ({"reason": "x" * 2001}, "reason"),
]


def test_bad_input_is_refused_and_changes_nothing(db: Database, jobs: Session) -> None:
    kill(jobs)
    with nothing_changed(db):
        for what, why in WRONG:
            with refused("WL007", why):
                create(db, **what)
            with refused("WL007", why):
                preview(db, **what)
        for what, why in WRONG_RUNS:
            with refused("WL007", why):
                create(db, everything=True, **what)
        with refused("WL001", f"there is no tenant {UNKNOWN}"):
            create(db, UNKNOWN, everything=True)
        with refused("WL005"):
            call(db, "create_redrive", tenant=None, everything=True)
        with pytest.raises(psycopg.errors.StatementTooComplex):
            create(db, kinds=["mail"], patch='{"a":' * 1000 + "1" + "}" * 1000)


def test_the_start_is_recorded_and_said_twice_it_is_one(db: Database, jobs: Session) -> None:
    kill(jobs)
    known = uuid4()
    what: dict[str, Any] = {
        "kinds": ["mail"],
        "error_like": "%x%",
        "throttle": 5.0,
        "expected": 1,
        "id": known,
    }
    assert create(db, **what, reason="relay is back", actor="ada") == known
    with nothing_changed(db):
        assert create(db, **what, reason="relay is back", actor="ada") == known
    told = events(db, DEFAULT_TENANT, "action", "actor", "job_id", "reason", "details")
    ((*start, details),) = [event for event in told if event[0].startswith("redrive.")]
    assert start == ["redrive.start", "ada", known, "relay is back"]
    assert details == {"kinds": ["mail"], "error_like": "%x%", "throttle": 5, "expected": 1}
    row = get(db, known)
    assert (row.state, row.actor, row.expected, row.matched, row.stop_after) == ("queued", "ada", 1, 0, 20)
