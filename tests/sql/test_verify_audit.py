"""verify_audit: what is altered, removed or inserted behind the back of every function is found and named."""

import hashlib
import json
from typing import Any

import pytest

from tests.sql.audit import Audit, Tamper, seal, verify
from tests.sql.operate import NIL, bind, call, kill
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.support import Database

pytestmark = pytest.mark.every_version

LAST = 6


@pytest.fixture
def audit(db: Database, jobs: Session) -> Audit:
    audit = Audit(db)
    audit.fill(jobs)
    found = verify(audit.conn)
    assert (found.fault, found.sealed, found.unsealed) == (None, LAST, 0)
    return audit


def found_at(audit: Audit, tamper: Tamper) -> set[tuple[str | None, int | None, bool]]:
    """What a check says after it, whatever the size of its pages; then it never happened."""
    try:
        tamper(audit)
        checks = [verify(audit.conn, limit=limit) for limit in (1, 2, 5, 100)]
        return {(check.fault, check.place, bool(check.message)) for check in checks}
    finally:
        audit.conn.rollback()


COLUMNS = {
    "at": "at + interval '1 microsecond'",
    "actor": "actor || ' '",
    "login": "'mallory'",
    "action": "'gate.set '",
    "job_id": f"'{UNKNOWN}'",
    "reason": "coalesce(reason || '!', '')",
    "details": "coalesce(details, '{}') || '{\"more\": 1}'",
}


def altered(column: str) -> Tamper:
    return lambda audit: audit.alter(3, column, COLUMNS[column])


def test_a_change_of_any_column_is_found(audit: Audit) -> None:
    found = {column: found_at(audit, altered(column)) for column in COLUMNS}
    assert found == {column: {("event_altered", 3, True)} for column in COLUMNS}


def test_nothing_and_the_null_of_json_are_not_the_same(audit: Audit) -> None:
    audit.alter(1, "details", "null")
    audit.rehash(*range(1, LAST + 1))
    audit.alter(1, "details", "'null'")
    assert verify(audit.conn).fault == "event_altered"


def swap_events(audit: Audit) -> None:
    first, second = audit.event(2), audit.event(4)
    for old, new in ((first, UNKNOWN), (second, first), (UNKNOWN, second)):
        audit.do("update windlass_data.event set id = %s where id = %s", new, old)


def swap_seals(audit: Audit) -> None:
    for old, new in ((2, 99), (3, 2), (99, 3)):
        audit.do(
            "update windlass_data.seal set place = %s where place = %s and tenant_id <> %s", new, old, NIL
        )


def insert_event(audit: Audit) -> None:
    audit.do(
        "insert into windlass_data.event (tenant_id, at, actor, action)"
        " values (%s, now(), 'ada', 'job.dead')",
        DEFAULT_TENANT,
    )


def insert_seal(audit: Audit) -> None:
    """An event with a seal of its own, as good as can be, but without the end of the chain."""
    insert_event(audit)
    audit.do(
        "insert into windlass_data.seal (tenant_id, place, event_id, digest, hash)"
        " select e.tenant_id, 7, e.id, '', '' from windlass_data.event as e"
        " where not exists (select from windlass_data.seal as s where s.event_id = e.id)"
    )
    audit.rehash(7)


def forge(place: int) -> Tamper:
    def act(audit: Audit) -> None:
        audit.alter(place)
        audit.rehash(place)

    return act


def head(text: str) -> Tamper:
    return lambda audit: audit.do(
        f"update windlass_data.chain set {text} where tenant_id = %s", DEFAULT_TENANT
    )


# What was done, what is found, and at which place.
TAMPERING: dict[str, tuple[Tamper, str, int | None]] = {
    "the first event removed": (lambda audit: audit.remove(1, "event"), "event_removed", 1),
    "one in the middle removed": (lambda audit: audit.remove(3, "event"), "event_removed", 3),
    "the last event removed": (lambda audit: audit.remove(LAST, "event"), "event_removed", LAST),
    "the first with its seal": (lambda audit: audit.remove(1, "event", "seal"), "seal_removed", 2),
    "one in the middle with its seal": (lambda audit: audit.remove(3, "event", "seal"), "seal_removed", 4),
    "the last with its seal": (lambda audit: audit.remove(LAST, "event", "seal"), "seal_removed", LAST),
    "a seal alone": (lambda audit: audit.remove(3, "seal"), "seal_removed", 4),
    "its id": (lambda audit: audit.alter(2, "id", f"'{UNKNOWN}'"), "event_removed", 2),
    "given to another tenant": (lambda audit: audit.alter(2, "tenant_id", f"'{NIL}'"), "event_removed", 2),
    "two events swapped": (swap_events, "event_altered", 2),
    "two seals swapped": (swap_seals, "seal_altered", 2),
    "an event inserted": (insert_event, "event_inserted", None),
    "an event inserted with a seal": (insert_seal, "seal_inserted", 7),
    "one row with a new hash": (forge(3), "seal_altered", 4),
    "the last row with a new hash": (forge(LAST), "head_altered", LAST),
    "another hash at the end": (head("hash = sha256('')"), "head_altered", LAST),
    "the end moved back": (head("place = 5"), "seal_inserted", LAST),
    "the end moved on": (head("place = 9"), "seal_removed", 9),
    "the end removed": (
        lambda audit: audit.do("delete from windlass_data.chain where tenant_id = %s", DEFAULT_TENANT),
        "head_removed",
        LAST,
    ),
    "everything removed": (
        lambda audit: audit.do("delete from windlass_data.event; delete from windlass_data.seal"),
        "seal_removed",
        LAST,
    ),
}


def test_tampering_is_found_and_named(audit: Audit) -> None:
    found = {what: found_at(audit, tamper) for what, (tamper, _, _) in TAMPERING.items()}
    assert found == {what: {(fault, place, True)} for what, (_, fault, place) in TAMPERING.items()}


def test_the_altered_event_itself_is_named(audit: Audit) -> None:
    audit.alter(4)
    (page,) = audit.conn.execute("select * from windlass.verify_audit(%s)", [DEFAULT_TENANT]).fetchall()
    assert (page.event_id, page.place, page.at is not None, page.cursor) == (audit.event(4), 4, True, None)


def test_who_rewrites_everything_is_found_by_a_head_noted_before(audit: Audit) -> None:
    noted = verify(audit.conn).head
    audit.alter(3)
    audit.rehash(*range(3, LAST + 1))
    audit.do(
        "update windlass_data.chain as c set hash = s.hash from windlass_data.seal as s"
        " where s.tenant_id = c.tenant_id and s.place = c.place"
    )
    rewritten = verify(audit.conn)
    assert rewritten.fault is None, "the tables agree with each other"
    found = verify(audit.conn, known=noted)
    assert (found.fault, found.place) == ("chain_rewritten", LAST)
    audit.conn.rollback()
    call(audit.db, "set_gate", tenant=DEFAULT_TENANT, actor="eve")
    after = verify(audit.conn, known=noted)
    assert (after.fault, after.sealed) == (None, LAST + 1), "the chain goes on through it"


def test_what_is_not_sealed_yet_is_counted_and_watched(audit: Audit, jobs: Session) -> None:
    for _ in range(3):
        kill(jobs)
    found = verify(audit.conn, limit=1)
    assert (found.fault, found.sealed, found.unsealed) == (None, LAST, 3)
    first = "(select event_id from windlass_data.unsealed order by event_id limit 1)"
    audit.do(f"update windlass_data.event set reason = 'fine' where id = {first}")
    assert verify(audit.conn, limit=2).fault == "event_altered"
    audit.do(f"delete from windlass_data.event where id = {first}")
    found = verify(audit.conn, limit=1)
    assert (found.fault, found.message) == ("event_removed", "an event was removed before it was sealed")
    audit.conn.execute("select windlass.seal_events()")
    found = verify(audit.conn)
    assert (found.fault, found.place) == ("event_removed", LAST + 1), "sealing hides nothing"


def test_other_chains_are_sound_beside_a_broken_one(audit: Audit, other: Session) -> None:
    kill(other)
    call(audit.db, "set_queue", queue="q", mode="strict")
    seal(audit.db)
    audit.alter(2)
    checks = [verify(audit.conn, tenant) for tenant in (DEFAULT_TENANT, OTHER_TENANT, NIL)]
    assert [check.fault for check in checks] == ["event_altered", None, None]
    assert [check.sealed for check in checks[1:]] == [1, 1]


def test_digest_and_hash_are_the_same_everywhere(db: Database) -> None:
    """Anybody can compute them: a JSON array of texts, then the hash before, the place and the digest."""
    job, event = "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"
    details = {"b": [1.50, None, "é\n\u0001\u007f"], "aa": {"x": 1e20}, "c": '\\ud800 " / 𝕏'}
    query = (
        "select encode(d, 'hex') as digest, encode(windlass_data.seal_hash('', 1, d), 'hex') as first,"
        " encode(windlass_data.seal_hash(windlass_data.seal_hash('', 1, d), 2, d), 'hex') as second"
        " from windlass_data.event_digest(row(%s, %s, '2024-02-29 23:59:59.1+02', %s, 'app', 'job.cancel',"
        " %s, %s, %s)::windlass_data.event) as d"
    )
    conn = db.connect("superuser")
    conn.execute("set timezone = 'Asia/Kathmandu'; set datestyle = 'German'; set extra_float_digits = -5")
    given = (DEFAULT_TENANT, event, "ann\t€", job, None, json.dumps(details))
    (found,) = conn.execute(query.encode(), given).fetchall()
    numbers = '"b": [1.5, null, "é\\n\\u0001\u007f"]'
    stored = f'{{{numbers}, "c": "\\\\ud800 \\" / 𝕏", "aa": {{"x": 100000000000000000000}}}}'
    fields = [event, "1709243999.100000", "ann\t€", "app", "job.cancel", job, None, stored]
    text = json.dumps(["windlass event 1", str(DEFAULT_TENANT), *fields], ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).digest()
    first = hashlib.sha256((1).to_bytes(8) + digest).digest()
    second = hashlib.sha256(first + (2).to_bytes(8) + digest).digest()
    assert tuple(found) == (digest.hex(), first.hex(), second.hex())
    assert digest.hex() == "48d46b52dd6ead0fa7b9b099b79ff4f4f4193025b57b90ed5ad08d5367af0347"


WRONG: list[dict[str, Any]] = [
    {"limit": 0},
    {"limit": None},
    {"cursor": "c.x"},
    {"cursor": "i.1"},
    {"known": "6"},
    {"known": "6:ab"},
]


def test_bad_input_is_refused(db: Database) -> None:
    for wrong in WRONG:
        with refused("WL007"):
            call(db, "verify_audit", tenant=DEFAULT_TENANT, **wrong)


def test_each_tenant_and_the_installation_for_those_who_may(db: Database, other: Session) -> None:
    with refused("WL001"):
        verify(db.connection(), UNKNOWN)
    bind(db, "reader", OTHER_TENANT)
    seal(db)
    reader = db.connection("reader")
    assert verify(reader, OTHER_TENANT).sealed == 1
    for tenant in (DEFAULT_TENANT, NIL, UNKNOWN):
        with refused("WL005"):
            verify(reader, tenant)
