"""Values made from rows: enums, shown states, and that a frozen value stays as it is."""

import json
import pickle
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from windlass.model import (
    Attempt,
    ClaimedJob,
    Event,
    Gate,
    Job,
    JobState,
    Node,
    Outcome,
    Page,
    Queue,
    Tenant,
)

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
SOME_ID = UUID("0190a000-0000-7000-8000-000000000001")


def job_row(**more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": SOME_ID,
        "tenant_id": uuid4(),
        "queue": "default",
        "kind": "mail.send",
        "state": "queued",
        "priority": 0,
        "payload": {"to": "x"},
        "run_at": NOON,
        "created_at": NOON,
        "max_attempts": 5,
        "read_at": NOON,
    }
    return row | more


def test_terminal_states() -> None:
    assert {state.value for state in JobState if state.terminal} == {
        "succeeded",
        "dead",
        "canceled",
        "skipped",
    }
    assert {state.value for state in JobState if not state.terminal} == {"blocked", "queued", "running"}


def test_counted_outcomes() -> None:
    assert {outcome.value for outcome in Outcome if not outcome.counted} == {"snoozed", "released"}
    assert len(Outcome) == 8


def test_job_from_row_ignores_columns_it_does_not_know() -> None:
    job = Job.from_row(job_row(a_column_of_tomorrow=1, ended_reason="not needed"))
    assert job.state is JobState.QUEUED
    assert job.ended_reason == "not needed"
    assert (job.attempt, job.counted, job.result, job.finished_at) == (0, 0, None, None)


def test_job_without_a_required_column_is_an_error() -> None:
    row = job_row()
    del row["kind"]
    with pytest.raises(TypeError, match="kind"):
        Job.from_row(row)


def test_job_with_an_unknown_state_is_an_error() -> None:
    with pytest.raises(ValueError, match="DLQ"):
        Job.from_row(job_row(state="DLQ"))


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        ({}, "queued"),
        ({"run_at": NOON + timedelta(seconds=1)}, "scheduled"),
        ({"run_at": NOON - timedelta(seconds=1)}, "queued"),
        ({"run_at": NOON + timedelta(seconds=1), "counted": 1, "attempt": 1}, "retrying"),
        ({"counted": 2, "attempt": 2}, "retrying"),
        ({"attempt": 3, "counted": 0}, "queued"),
        ({"attempt": 1, "counted": 0, "run_at": NOON + timedelta(days=1)}, "scheduled"),
        ({"state": "running", "attempt": 2, "counted": 1}, "running"),
        ({"state": "dead", "counted": 5}, "dead"),
        ({"state": "blocked", "run_at": NOON + timedelta(days=1)}, "blocked"),
        ({"run_at": NOON + timedelta(days=1), "read_at": None}, "queued"),
    ],
)
def test_shown_state(columns: dict[str, Any], shown: str) -> None:
    assert Job.from_row(job_row(**columns)).shown_state == shown


def test_values_are_frozen() -> None:
    job = Job.from_row(job_row())
    with pytest.raises(FrozenInstanceError):
        job.state = JobState.DEAD  # type: ignore[misc]
    assert not hasattr(job, "__dict__")


def test_a_claimed_job_is_the_row_as_it_came() -> None:
    midnight, hour = datetime(2000, 1, 1, tzinfo=UTC), 3_600_000_000
    row: tuple[Any, ...] = (
        SOME_ID.bytes, uuid4().bytes, "q", "k", 0, b'\x01{"n": [1, "\xc3\xa9"]}', uuid4().bytes, 2, 1, 5,
        hour, None, None, -hour, 1.5, 7, 8,
    )  # fmt: skip
    job = ClaimedJob._make(row)
    assert tuple(job) == row
    assert (job.id, job.tenant_id.bytes, job.token.bytes) == (SOME_ID, row[1], row[6])
    assert (job.id_text, job.tenant_text) == (str(job.id), str(job.tenant_id))
    assert (job.version, job.counted, job.timeout) == (2, 1, 1.5)
    assert (job.payload, json.loads(job.payload_json)) == ({"n": [1, "é"]}, {"n": [1, "é"]})
    assert job.expires_at == midnight + timedelta(hours=1)
    assert job.created_at == midnight - timedelta(hours=1)
    assert pickle.loads(pickle.dumps(job)) == job
    assert "é" not in repr(job), "a payload may hold what does not belong into a log"


def test_a_claimed_job_can_be_made_from_values() -> None:
    values: tuple[Any, ...] = (
        SOME_ID, SOME_ID, "q", "k", 0, {"a": None}, SOME_ID, 2, 1, 5, NOON, "t", "c", NOON, None,
    )  # fmt: skip
    job = ClaimedJob(*values)
    assert (job.id, job.tenant_id, job.queue, job.kind, job.priority, job.payload, job.token) == values[:7]
    assert (job.expires_at, job.trace_id, job.correlation_id, job.created_at, job.timeout) == values[10:]


def test_attempt_runs_until_it_has_an_outcome() -> None:
    row = {"job_id": SOME_ID, "number": 1, "started_at": NOON, "outcome": None}
    assert Attempt.from_row(row).running
    ended = Attempt.from_row(row | {"outcome": "timed_out"})
    assert ended.outcome is Outcome.TIMED_OUT
    assert not ended.running


def test_event_from_row() -> None:
    row = {
        "id": 7,
        "at": NOON,
        "actor": "ops",
        "action": "job.redrive",
        "details": {"n": 1},
        "reason": "fixed",
    }
    event = Event.from_row(row)
    assert (event.id, event.job_id, event.details, event.reason) == (7, None, {"n": 1}, "fixed")


def test_gate_says_what_it_holds() -> None:
    row = {"id": SOME_ID, "created_at": NOON, "actor": "ops"}
    assert Gate.from_row(row).scope == "everything"
    assert Gate.from_row(row | {"queue": "mail", "kind": "send"}).scope == "queue mail, kind send"
    assert Gate.from_row(row | {"tenant_id": SOME_ID}).scope == f"tenant {SOME_ID}"


def test_node_keeps_no_list_of_others() -> None:
    queues = ["a", "b"]
    row = {"id": SOME_ID, "name": "n", "started_at": NOON, "heartbeat_at": NOON, "queues": queues}
    node = Node.from_row(row)
    queues.append("c")
    assert node.queues == ("a", "b")


def test_queue_and_tenant_from_row() -> None:
    assert Queue.from_row({"name": "default", "mode": "strict", "ready": 3}).ready == 3
    tenant = Tenant.from_row({"id": SOME_ID, "slug": "acme", "created_at": NOON, "running": 4})
    assert (tenant.slug, tenant.running) == ("acme", 4)


def test_page_is_a_sequence_of_its_items() -> None:
    page = Page((1, 2), next_cursor="x")
    assert list(page) == [1, 2]
    assert len(page) == 2
    assert Page(()).next_cursor is None
