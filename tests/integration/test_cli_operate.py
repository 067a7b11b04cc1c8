"""The commands of operators, and what every command does when it cannot do its work."""

import json
import re
from pathlib import Path

import pytest

from tests.integration.command import Command
from tests.support import Database


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    return Command(tmp_path, db.url())


def test_queues(windlass: Command) -> None:
    windlass.here("enqueue", "greet", "--queue", "mail").ok()
    windlass.here("enqueue", "greet", "--queue", "mail", "--delay", "1h").ok()
    assert windlass.here("queues", "set", "mail", "--mode", "strict").ok().out == "mail is strict\n"
    assert windlass.here("queues", "set", "new", "--mode", "fair", "--json").ok().json == {
        "name": "new",
        "mode": "fair",
        "ageing_seconds": None,
    }
    queues = {queue["name"]: queue for queue in windlass("queues", "--json").ok().json["items"]}
    assert set(queues) == {"mail", "new"}
    mail = queues["mail"]
    assert (mail["mode"], mail["ready"], mail["scheduled"], mail["gated"]) == ("strict", 1, 1, False)

    header, *rows = windlass.here("queues").ok().out.splitlines()
    assert header.split()[:5] == ["QUEUE", "MODE", "AGEING", "READY", "SCHEDULED"]
    assert [row.split()[:4] for row in rows if row.startswith("mail")] == [["mail", "strict", "-", "1"]]
    assert windlass.here("queues", "set", "mail", "--mode", "random").code == 2
    assert windlass.here("queues", "set", "no good", "--mode", "fair").code == 6


def test_tenants(windlass: Command, db: Database) -> None:
    new = windlass.here("tenants", "create", "acme", "--name", "Acme Ltd", "--json").ok()
    assert (new.json["created"], new.err) == (True, "")
    created = new.json["id"]
    again = windlass.here("tenants", "create", "acme", "--name", "Acme Ltd", "--json").ok().json
    assert again == {"id": created, "slug": "acme", "created": False}
    told = windlass.here("tenants", "create", "acme").ok()
    assert (told.out.strip(), told.err) == (
        created,
        "the slug 'acme' is taken: this is the tenant that was there before\n",
    )
    refused = windlass.here("tenants", "create", "acme", "--name", "Other")
    assert refused.code == 4
    assert refused.err.splitlines() == [
        "windlass: the slug 'acme' belongs to the tenant 'Acme Ltd' [idempotency_conflict]",
        "  Choose another slug; without a name that tenant is found as it is.",
    ]
    assert windlass.here("tenants", "create", "Not A Slug").code == 6

    theirs = windlass.here("enqueue", "greet", "--tenant", created).ok().out.strip()
    shown = windlass.here("jobs", "show", theirs, "--tenant", "acme").ok().out
    assert re.search("^tenant +acme$", shown, re.MULTILINE)
    mine = windlass.here("enqueue", "greet", "--delay", "1h").ok().out.strip()
    assert "tenant" not in windlass.here("jobs", "show", mine).ok().out
    tenants = windlass.here("tenants", "--json").ok().json["items"]
    assert [(tenant["slug"], tenant["ready"]) for tenant in tenants] == [("acme", 1), ("default", 0)]
    assert "Acme Ltd" in windlass.here("tenants", "list").ok().out


def test_a_role_bound_to_a_tenant_names_no_other(windlass: Command, db: Database, tmp_path: Path) -> None:
    acme = windlass.here("tenants", "create", "acme").ok().out.strip()
    assert (
        windlass.here("tenants", "bind", "test_producer", "acme").ok().out
        == "test_producer acts for acme only\n"
    )
    bound = Command(tmp_path, db.url("producer"))
    try:
        assert bound.here("enqueue", "greet", "--tenant", "acme").code == 0
        assert bound.here("enqueue", "greet", "--json").ok().json["tenant_id"] == acme
        refused = bound.here("enqueue", "greet", "--json", "--tenant", "default")
        assert (refused.code, refused.error["code"]) == (5, "forbidden")
    finally:
        freed = windlass.here("tenants", "unbind", "test_producer", "--json").ok().json
    assert freed == {"role": "test_producer", "tenant_id": acme, "tenant": "acme"}
    assert bound.here("enqueue", "greet").code == 0
    assert windlass.here("tenants", "unbind", "test_producer").code == 3
    assert windlass.here("tenants", "bind", "nobody_here", "acme").code == 3
    assert windlass.here("tenants", "bind", "windlass_superuser", "acme").code == 6
    assert windlass.here("tenants", "bind", "windlass_app", "acme").code == 6, "it would lock itself in"
    windlass.here("tenants", "bind", "test_producer", "acme").ok()
    assert windlass.here("tenants", "unbind", "test_producer").ok().out.endswith("it acted for acme\n")


def test_gates(windlass: Command) -> None:
    gate = windlass("gates", "set", "--queue", "mail", "--until", "2h", "--reason", "relay is down").ok().out
    (listed,) = windlass.here("gates", "--json").ok().json["items"]
    assert listed["id"] == gate.strip()
    assert (listed["queue"], listed["kind"], listed["reason"]) == ("mail", None, "relay is down")
    assert listed["expires_at"] > listed["created_at"]
    assert "queue mail" in windlass.here("gates", "list").ok().out
    assert windlass.here("queues", "set", "mail", "--mode", "fair").code == 0
    queues = windlass.here("queues", "--json").ok().json["items"]
    assert [queue["gated"] for queue in queues if queue["name"] == "mail"] == [True]

    assert windlass.here("gates", "set", "--queue", "mail").ok().out == gate
    (replaced,) = windlass.here("gates", "--json").ok().json["items"]
    assert (replaced["reason"], replaced["expires_at"]) == ("", None)
    assert windlass.here("gates", "clear", gate.strip()).ok().out == f"cleared {gate}"
    everything = windlass.here("gates", "set", "--everything", "--json").ok().json["id"]
    assert windlass.here("gates", "clear", "--everything", "--json").ok().json == {"id": everything}
    assert windlass.here("gates").err == "no gates\n"


def test_a_gate_on_what_nobody_has_is_remarked_on(windlass: Command, db: Database) -> None:
    told = windlass.here("gates", "set", "--queue", "mial", "--kind", "sned").ok()
    assert re.fullmatch(r"[0-9a-f-]{36}\n", told.out)
    assert told.err.splitlines() == [
        "hint: there is no queue 'mial' yet, and no active node would take from it",
        "hint: no active node knows the kind 'sned', and no job of it waits",
    ]
    as_json = windlass.here("gates", "set", "--queue", "mial", "--json").ok()
    assert (set(as_json.json), as_json.err) == ({"id", "expires_at"}, "")

    windlass.here("enqueue", "send", "--queue", "mail").ok()
    heartbeat = "select windlass.heartbeat_node(%s, 'mill', p_queues => array['a'], p_kinds => array['k'])"
    db.fetch(heartbeat, "00000000-0000-7000-8000-00000000000a")
    for words in (("--queue", "mail", "--kind", "send"), ("--queue", "a", "--kind", "k"), ("--everything",)):
        assert windlass.here("gates", "set", *words).ok().err == ""


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["set"], 2),
        (["set", "--everything", "--queue", "mail"], 2),
        (["set", "--queue", "mail", "--until", "2001-01-01T00:00:00Z"], 6),
        (["set", "--tenant", "nobody"], 3),
        (["clear"], 2),
        (["clear", "--queue", "mail"], 3),
        (["clear", "00000000-0000-7000-8000-0000000000ff"], 3),
        (["clear", "00000000-0000-7000-8000-0000000000ff", "--everything"], 2),
    ],
)
def test_wrong_gates(windlass: Command, words: list[str], code: int) -> None:
    answer = windlass.here("gates", *words, "--json")
    assert (answer.code, answer.out) == (code, "")
    assert answer.error["message"]


def test_nodes(windlass: Command, db: Database) -> None:
    assert windlass.here("nodes").ok().err.startswith("no nodes")
    heartbeat = "select windlass.heartbeat_node(%s, 'mill', 'box', 7, '1.0', array['a'], array['k'], 4)"
    db.fetch(heartbeat, "00000000-0000-7000-8000-00000000000a")
    (node,) = windlass.here("nodes", "--json").ok().json["items"]
    assert (node["name"], node["active"], node["queues"], node["concurrency"]) == ("mill", True, ["a"], 4)
    assert windlass.here("nodes").ok().out.splitlines()[1].split()[0::2][:2] == ["mill", "active"]
    assert (node["address"], "ADDRESS" in windlass.here("nodes").ok().out) == (None, False)
    db.execute("update windlass_data.node set address = '10.0.0.7:8080'", role="superuser")
    shown = windlass.here("nodes").ok().out
    assert ("ADDRESS" in shown, "10.0.0.7:8080" in shown) == (True, True)
    db.fetch("select windlass.stop_node(%s)", "00000000-0000-7000-8000-00000000000a")
    assert windlass.here("nodes", "--json").ok().json["items"] == []
    assert "stopped" in windlass.here("nodes", "--stopped").ok().out


def test_a_role_without_the_right_is_refused(db: Database, tmp_path: Path) -> None:
    reader = Command(tmp_path, db.url("reader"))
    answer = reader.here("enqueue", "greet")
    assert (answer.code, answer.out) == (5, "")
    assert answer.err.splitlines()[0].endswith("[forbidden]")
    assert reader.here("jobs", "list").code == 0


def test_a_database_without_windlass(empty_db: Database, tmp_path: Path) -> None:
    answer = Command(tmp_path, empty_db.url("owner")).here("jobs", "list")
    assert answer.code == 8
    assert "`windlass migrate` installs what is missing" in answer.err


def test_a_database_that_does_not_answer(tmp_path: Path) -> None:
    url = "postgresql://ann:secret@127.0.0.1:1/shop"
    answer = Command(tmp_path, url)("jobs", "list", "--json")
    assert (answer.code, answer.out) == (7, "")
    assert answer.error["code"] == "unavailable"
    assert "secret" not in answer.err
    debugged = Command(tmp_path, url)("jobs", "list", "--debug")
    assert debugged.code == 7
    assert "Traceback" in debugged.err
    assert "secret" not in debugged.err


def test_no_database_and_no_embedded_server(tmp_path: Path) -> None:
    answer = Command(tmp_path, WINDLASS_DATA_DIR=str(tmp_path / "data"))("jobs", "list")
    assert answer.code == 7
    assert "windlass up" in answer.err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("WINDLASS_CONCURENCY", "5", "did you mean WINDLASS_CONCURRENCY?"),
        ("WINDLASS_POOLER", "session", "WINDLASS_POOLER is 'session'"),
        ("WINDLASS_DATABASE_URL", "mysql://localhost/x", "WINDLASS_DATABASE_URL must begin with"),
    ],
)
def test_wrong_settings(tmp_path: Path, variable: str, value: str, sentence: str) -> None:
    answer = Command(tmp_path, **{variable: value}).here("jobs", "list", "--json")
    assert answer.code == 6
    assert sentence in answer.error["message"]


def test_debug_in_the_environment_is_no_unknown_setting(windlass: Command) -> None:
    windlass.environment["WINDLASS_DEBUG"] = "1"
    answer = windlass("jobs", "show", "00000000-0000-7000-8000-0000000000ff", "--json")
    assert answer.code == 3
    assert "Traceback" in answer.error["traceback"]


def test_the_url_of_the_command_line_goes_first(db: Database, tmp_path: Path) -> None:
    command = Command(tmp_path, "postgresql://127.0.0.1:1/nowhere")
    assert command.here("jobs", "list", "--database-url", db.url()).code == 0


def test_version(tmp_path: Path) -> None:
    command = Command(tmp_path)
    assert command("version").ok().out.startswith("windlass ")
    assert set(json.loads(command.here("version", "--json").ok().out)) == {
        "windlass",
        "python",
        "psycopg",
        "platform",
    }
