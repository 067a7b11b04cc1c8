"""How large a payload may be: as callers write it, and as the database would write it out."""

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.sql.steps import Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Database
from windlass.model import uuid7_many

pytestmark = pytest.mark.every_version

MIB = 1024 * 1024

LARGEST: dict[str, Any] = {
    "text": "x" * (MIB - 2),
    "text of many bytes": "é" * (MIB // 2 - 1),
    "escapes": "\x01" * (MIB // 6 - 1),
    "fractions": [0.5] * (MIB // 4 - 1),
    "small numbers": [1] * (MIB // 2 - 1),
    "numbers that are short as they are written": [1e300, 1e-300, 1e16, 1e-05, 1.5e-07] * (MIB // 34),
    "empty lists": [[]] * (MIB // 3 - 1),
    "objects": [{"": {"a": 1}}] * (MIB // 13 - 1),
}


@pytest.mark.parametrize("what", LARGEST)
def test_the_limit_is_on_json_as_callers_write_it(jobs: Session, what: str) -> None:
    """A mebibyte of it, which the database may write or keep in several times as many bytes."""
    payload = LARGEST[what]
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    assert MIB - 50 < len(text.encode()) <= MIB
    assert jobs.enqueue_row(payload=payload).created
    assert jobs.enqueue_row(payload=payload, key="goes another way").created
    many = 'select windlass.enqueue_many(%s, \'{"kind": "mail"}\', %s, array[%s])'
    assert jobs.call(many, jobs.tenant, f"[{text}]", uuid4()) == []


def test_no_json_is_measured_larger_than_it_was_written(db: Database) -> None:
    """However its numbers are spelled: the database spells them anew."""
    mantissas = ("0", "1", "9", "10", "123", "1.0", "0.5", "1.25", "100.001", "-7", "-0.5")
    exponents = ("", *(f"e{n}" for n in (0, 1, 2, 3, 5, 16, 63, 300, -1, -2, -3, -5, -63, -64, -300)))
    numbers = [mantissa + exponent for mantissa in mantissas for exponent in exponents]
    texts = [
        text for one in numbers for text in (one, f"[{one}]", f"[{','.join([one] * 50)}]", f'{{"":{one}}}')
    ]
    query = (
        "select t.text from unnest(%s::text[]) as t(text) where windlass._least_json_bytes(t.text::jsonb) > "
    )
    assert (
        db.fetch(f"{query} octet_length(t.text)", [*texts, "[]", "[[],[]]", '{"":{"":{}}}'], role="superuser")
        == []
    )


@pytest.mark.parametrize(
    ("payload", "size"),
    [
        ("x" * (MIB - 1), MIB + 1),
        ([1] * (MIB // 2), MIB + 1),
        ({"text": ["x" * 1000] * 2000}, 2_006_010),
        # Zeros may have been an exponent, but not so many of them.
        ("0" * 10 * MIB, r"\d+"),
    ],
    ids=["text", "numbers", "deep", "zeros"],
)
def test_a_payload_that_is_too_large(db: Database, jobs: Session, payload: Any, size: int | str) -> None:
    why = f"payload has at least {size} bytes as JSON, and 1048576 are allowed"
    with nothing_changed(db), refused("WL007", why):
        jobs.enqueue(payload=payload)
    many = 'select windlass.enqueue_many(%s, \'{"kind": "mail"}\', %s, %s)'
    with nothing_changed(db), refused("WL007", f"job 2 of the batch: {why}"):
        jobs.call(many, jobs.tenant, json.dumps([1, payload]), uuid7_many(2))


def test_a_payload_that_packs_well_is_still_too_large(db: Database, jobs: Session) -> None:
    """Taken from a table the value arrives compressed; the limit is on what it says."""
    superuser = db.connection("superuser")
    superuser.execute("create table public.source (payload jsonb)")
    superuser.execute("grant select on public.source to public")
    superuser.execute("insert into public.source select to_jsonb(repeat('x', 3000000))")
    jobs.enqueue("mail")  # so that its lane is there: such a job goes another way
    with nothing_changed(db), refused("WL007", "payload"):
        jobs.call("select windlass.enqueue_job(%s, 'mail', s.payload) from public.source as s", jobs.tenant)


def test_a_payload_that_nobody_could_write_out_is_refused(db: Database, jobs: Session) -> None:
    """Small as it is kept, and 70 MB for each worker that claims it, which could then claim nothing else."""
    payload = f"[{','.join(['1e100000'] * 700)}]"
    why = r"payload has \d+ bytes with its numbers written out, and 67108864 are allowed"
    jobs.enqueue("mail")
    for kind in ("mail", "new"):
        with nothing_changed(db), refused("WL007", f"^{why}"):
            jobs.call("select windlass.enqueue_job(%s, %s, %s::text::jsonb)", jobs.tenant, kind, payload)
    many = 'select windlass.enqueue_many(%s, \'{"kind": "mail"}\', %s::text::jsonb, %s)'
    with nothing_changed(db), refused("WL007", f"^job 2 of the batch: {why}"):
        jobs.call(many, jobs.tenant, f"[1, {payload}]", uuid7_many(2))
    batch = "select windlass.enqueue_jobs(%s, %s::text::jsonb)"
    with nothing_changed(db), refused("WL007", f"^job 2 of the batch: {why}"):
        jobs.call(batch, jobs.tenant, f'[{{"kind": "mail"}}, {{"kind": "mail", "payload": {payload}}}]')
