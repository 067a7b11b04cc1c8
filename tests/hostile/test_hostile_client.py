"""Hostile values through the Python client: stored exactly, or refused with a code; nothing in between."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.values import REFUSED_JSON, STORABLE_JSON, UNSTORABLE, same, storable_texts
from tests.hostile.watch import read_by_command, read_everything
from tests.support import Database
from windlass import NewJob
from windlass.client import SyncClient
from windlass.errors import InvalidInput, WindlassError

TEXTS = storable_texts()


def named(field: str, text: str) -> dict[str, Any]:
    return {field: text}


NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")


def test_every_text_in_a_payload_comes_back(db: Database, client: SyncClient, tmp_path: Path) -> None:
    payloads = [{"text": text, text: [text]} for text in TEXTS] + TEXTS
    handles = client.enqueue_jobs(NewJob(kind="k", payload=payload) for payload in payloads)
    found = read_everything(db, client)
    shown = read_by_command(db, tmp_path)
    for handle, payload in zip(handles, payloads, strict=True):
        assert found[handle.id].payload == payload
        assert shown[handle.id]["payload"] == payload


def test_every_json_value_comes_back_as_it_was(db: Database, client: SyncClient, tmp_path: Path) -> None:
    handles = {what: client.enqueue_job("k", [value]) for what, value in STORABLE_JSON.items()}
    found = read_everything(db, client)
    shown = read_by_command(db, tmp_path)
    for what, value in STORABLE_JSON.items():
        assert same(found[handles[what].id].payload[0], value), what
        assert same(shown[handles[what].id]["payload"][0], value), what


@pytest.mark.parametrize("what", [*REFUSED_JSON, *UNSTORABLE])
def test_what_cannot_be_stored_is_refused_and_leaves_nothing(client: SyncClient, what: str) -> None:
    value = REFUSED_JSON.get(what, UNSTORABLE.get(what))
    with pytest.raises(InvalidInput) as caught:
        client.enqueue_jobs([NewJob(kind="k", payload="good"), NewJob(kind="k", payload={"a": value})])
    assert len(str(caught.value)) < 1000
    str(caught.value).encode()
    assert list(client.iterate_jobs()) == []


def test_a_text_is_a_good_name_or_is_refused(db: Database, client: SyncClient, tmp_path: Path) -> None:
    kept = {}
    for text in [*TEXTS, *UNSTORABLE.values()]:
        for field, longest in (("kind", 200), ("queue", 100)):
            good = NAME.fullmatch(text) is not None and len(text) <= longest
            try:
                handle = client.enqueue_job(**{"kind": "k", "payload": 1, **named(field, text)})
            except InvalidInput as error:
                assert not good, (field, text)
                str(error).encode()
            else:
                assert good, (field, text)
                kept[handle.id] = (field, text)
    found = read_everything(db, client)
    assert {id: (field, getattr(found[id], field)) for id, (field, _) in kept.items()} == kept
    assert len(read_by_command(db, tmp_path)) == len(kept) > 10


def test_a_text_is_a_good_key_or_is_refused(db: Database, client: SyncClient, tmp_path: Path) -> None:
    """Two keys are one only if they are the same characters: nothing is trimmed, folded or made normal."""
    good = [text for text in TEXTS if 1 <= len(text) <= 500]
    jobs = [NewJob(kind="k", payload=place, key=text) for place, text in enumerate(good)]
    handles = client.enqueue_jobs(jobs)
    assert all(handle.created for handle in handles)
    assert [handle.id for handle in client.enqueue_jobs(jobs)] == [handle.id for handle in handles]
    for text in ("", "k" * 501, *UNSTORABLE.values()):
        with pytest.raises(InvalidInput):
            client.enqueue_job("k", 1, key=text)
    found = read_everything(db, client)
    assert [found[handle.id].idempotency_key for handle in handles] == good
    assert len(read_by_command(db, tmp_path)) == len(good)


@pytest.mark.parametrize("field", ["correlation_id", "trace_id"])
def test_a_text_is_a_good_label_or_is_refused(db: Database, client: SyncClient, field: str) -> None:
    good = [text for text in TEXTS if 1 <= len(text) <= 200]
    handles = [client.enqueue_job("k", 1, **named(field, text)) for text in good]
    for text in ("x" * 201, *UNSTORABLE.values()):
        with pytest.raises(InvalidInput):
            client.enqueue_job("k", 1, **named(field, text))
    found = read_everything(db, client)
    assert [getattr(found[handle.id], field) for handle in handles] == good
    if field == "correlation_id":
        for handle, text in zip(handles, good, strict=True):
            assert [job.id for job in client.list_jobs(correlation_id=text)] == [handle.id]


def test_who_and_why_are_kept_as_they_were_said(db: Database, client: SyncClient, tmp_path: Path) -> None:
    said = [text for text in TEXTS if 0 < len(text) <= 200]
    assert max(map(len, said)) == 200
    handles = client.enqueue_jobs(NewJob(kind="k", payload=1) for _ in said)
    for handle, text in zip(handles, said, strict=True):
        client.cancel_job(handle.id, reason=text, actor=text)
    for handle, text in zip(handles, said, strict=True):
        *_, last = client.list_history(handle.id)
        assert (last.actor, last.reason) == (text, text)
    read_everything(db, client)
    read_by_command(db, tmp_path)


ASKED: dict[str, Any] = {
    "cancel reason": lambda client, job, text: client.cancel_job(job, reason=text),
    "cancel actor": lambda client, job, text: client.cancel_job(job, actor=text),
    "reschedule reason": lambda client, job, text: client.reschedule_job(job, reason=text),
    "redrive error": lambda client, job, text: client.redrive_jobs(error_like=text),
    "redrive kind": lambda client, job, text: client.redrive_jobs(kinds=[text]),
    "list kinds": lambda client, job, text: client.list_jobs(kinds=text),
    "list cursor": lambda client, job, text: client.list_jobs(cursor=text),
    "list states": lambda client, job, text: client.list_jobs(states=text),
    "list correlation": lambda client, job, text: client.list_jobs(correlation_id=text),
    "get": lambda client, job, text: client.get_job(text),
    "tenant": lambda client, job, text: client.get_job(job, tenant=text),
    "gate reason": lambda client, job, text: client.set_gate(queue="q", reason=text),
    "gate queue": lambda client, job, text: client.set_gate(queue=text, reason="r"),
    "gate node": lambda client, job, text: client.set_gate(node=text, reason="r"),
    "limit reason": lambda client, job, text: client.set_limit(queue="q", depth=9, reason=text),
    "limit kind": lambda client, job, text: client.set_limit(kind=text, depth=9),
    "concurrency key": lambda client, job, text: client.enqueue_job("k", 1, concurrency_key=text),
    "explain": lambda client, job, text: client.explain_job(text),
    "tenant slug": lambda client, job, text: client.create_tenant(text),
    "tenant name": lambda client, job, text: client.create_tenant("hostile", text),
    "bound role": lambda client, job, text: client.bind_role(text, "default"),
    "queue": lambda client, job, text: client.set_queue(text, "strict"),
}


@pytest.mark.parametrize("asked", ASKED)
def test_text_that_cannot_be_stored_is_refused_everywhere(client: SyncClient, asked: str) -> None:
    handle = client.enqueue_job("k", 1)
    for text in UNSTORABLE.values():
        with pytest.raises(InvalidInput) as caught:
            ASKED[asked](client, handle.id, text)
        str(caught.value).encode()
    assert client.get_job(handle.id).state == "queued"


@pytest.mark.parametrize("asked", ASKED)
def test_any_other_text_is_taken_or_refused_with_a_code(db: Database, client: SyncClient, asked: str) -> None:
    handle = client.enqueue_job("k", 1)
    codes = set()
    for text in TEXTS:
        try:
            ASKED[asked](client, handle.id, text)
        except WindlassError as error:
            codes.add(error.code)
    assert codes <= {"invalid_input", "not_found", "invalid_transition", "idempotency_conflict"}
    read_everything(db, client)
