"""What a newcomer is told: that nobody takes a job, and how a command line was meant."""

import re
from pathlib import Path

import pytest

from tests.integration.command import APPLICATION, Command
from tests.support import Database

NODE = "00000000-0000-7000-8000-00000000000a"
JOB = "0198c0de-0000-7000-8000-000000000001"
START = "start one with `windlass worker MODULE:APP --queues default`"


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    (tmp_path / "shop.py").write_text(APPLICATION)
    return Command(tmp_path, db.url())


def start_node(db: Database, queues: list[str], kinds: list[str]) -> None:
    heartbeat = "select windlass.heartbeat_node(%s, 'mill', p_queues => %s, p_kinds => %s)"
    db.fetch(heartbeat, NODE, queues, kinds)


def test_an_enqueue_says_on_a_terminal_that_nobody_takes_the_job(windlass: Command, db: Database) -> None:
    told = windlass.on_terminal("enqueue", "add", '{"a": 1}').ok().out
    assert f"hint: no active node knows the kind 'add': {START}" in told

    start_node(db, ["mail"], ["add"])
    told = windlass.on_terminal("enqueue", "add", '{"a": 1}').ok().out
    assert "hint: the active nodes that know the kind 'add' take nothing from the queue 'default'" in told

    start_node(db, ["default", "mail"], ["add"])
    assert "hint" not in windlass.on_terminal("enqueue", "add", '{"a": 1}').ok().out


def test_scripts_get_a_field_instead(windlass: Command, db: Database) -> None:
    quiet = windlass.here("enqueue", "add", '{"a": 1}').ok()
    assert quiet.err == ""
    assert windlass.here("enqueue", "add", '{"a": 1}', "--json").ok().json["served"] is False
    start_node(db, ["default"], ["add"])
    assert windlass.here("enqueue", "add", '{"a": 1}', "--json").ok().json["served"] is True


def test_a_role_that_may_not_ask_is_told_nothing_and_gets_no_error(db: Database, tmp_path: Path) -> None:
    producer = Command(tmp_path, db.url("producer"))
    assert producer.here("enqueue", "add", '{"a": 1}', "--json").ok().json["served"] is None
    assert "hint" not in producer.on_terminal("enqueue", "add", '{"a": 1}').ok().out


@pytest.mark.parametrize("words", [("jobs", "list"), ("enqueue", "add"), ("nodes",), ("limits",)])
def test_a_login_in_no_group_is_told_which_it_needs(db: Database, tmp_path: Path, words: list[str]) -> None:
    outsider = Command(tmp_path, db.url("outsider"))
    refused = outsider.here(*words)
    assert refused.code == 5
    assert "may not use Windlass: grant it windlass_producer" in refused.err
    assert "windlass doctor" in refused.err
    assert outsider.here(*words, "--json").error["code"] == "forbidden"


OUTPUTS = {
    "a C locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "Latin-1": {"PYTHONIOENCODING": "iso-8859-1"},
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_what_an_output_cannot_show_is_escaped(db: Database, tmp_path: Path, output: str) -> None:
    job_id = Command(tmp_path, db.url()).here("enqueue", "add", '{"sign": "\u2192"}').ok().out.strip()
    narrow = Command(tmp_path, db.url(), **OUTPUTS[output])
    assert '"sign": "\\u2192"' in narrow("jobs", "show", job_id).ok().out


def test_a_waiting_job_says_that_nobody_takes_it(windlass: Command, db: Database) -> None:
    job_id = windlass.here("enqueue", "add", '{"a": 1}').ok().out.strip()
    shown = windlass.here("jobs", "show", job_id).ok().out
    assert re.search(rf"^waits +no active node knows the kind 'add': {START}$", shown, re.MULTILINE)
    assert windlass.here("jobs", "show", job_id, "--json").ok().json["served"] is False

    start_node(db, ["default"], ["add"])
    assert "waits " not in windlass.here("jobs", "show", job_id).ok().out
    assert windlass.here("jobs", "show", job_id, "--json").ok().json["served"] is True

    windlass.here("jobs", "cancel", job_id).ok()
    assert windlass.here("jobs", "show", job_id, "--json").ok().json["served"] is None


def test_up_without_an_application_says_what_it_runs(windlass: Command) -> None:
    with windlass.running_in_words("up", "--name", "mill") as said:
        assert "mill runs Windlass's own jobs alone, such as redrives" in said
        assert "none" not in said
        assert "windlass up --app MODULE:APP" in said
        assert "windlass worker MODULE:APP" in said


@pytest.mark.parametrize(
    "words",
    [
        ["--json", "jobs", "list"],
        ["jobs", "--json", "list"],
        ["--json", "jobs"],
        ["--json", "--tenant", "default", "jobs", "list"],
        ["--tenant=default", "--json", "jobs", "list", "--state", "queued"],
    ],
)
def test_common_options_may_stand_before_the_command(windlass: Command, words: list[str]) -> None:
    assert windlass.here(*words).ok().json == {"items": [], "next_cursor": None}


def test_the_overview_names_them(windlass: Command) -> None:
    told = windlass.here("--help").ok().out
    assert all(option in told for option in ("--json", "--database-url", "--tenant"))


def test_a_database_may_be_named_before_the_command(db: Database, tmp_path: Path) -> None:
    assert Command(tmp_path).here("--database-url", db.url(), "queues", "--json").ok().json == {"items": []}


@pytest.mark.parametrize("words", [["--json"], ["--json", "--wrong", "jobs"], ["--json", "nonsense"]])
def test_without_a_command_they_mean_nothing(windlass: Command, words: list[str]) -> None:
    assert windlass.here(*words).code == 2


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        ("{name:Ada}", "the payload is not JSON from line 1, character 2 on: 'name:Ada}'"),
        ("Ada", "the payload is not JSON from line 1, character 1 on: 'Ada'"),
        ('{"name": "Ada"', "the payload is not JSON from line 1, character 15 on: it ends too early"),
        ('{"a": 1}\n{"b": 2}', "the payload is not JSON from line 2, character 1 on"),
    ],
)
def test_a_payload_that_is_not_json(windlass: Command, payload: str, sentence: str) -> None:
    answer = windlass.here("enqueue", "greet", payload)
    assert answer.code == 6
    assert sentence in answer.err
    assert """'{"name": "Ada"}'""" in answer.err


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("shop.py:app", "shop:app"),
        ("shop.py", "shop:app"),
        ("./shop.py:app", "shop:app"),
        ("shops/near.py:main", "shops.near:main"),
    ],
)
def test_an_application_named_by_its_file(windlass: Command, name: str, meant: str) -> None:
    answer = windlass.here("worker", name, "--json")
    assert (answer.code, answer.error["code"]) == (6, "invalid_input")
    assert answer.error["message"].endswith(f"named by its module: {meant}")


@pytest.mark.parametrize(
    "words", [["jobs", "show", "17"], ["jobs", "redrive", JOB, "x"], ["gates", "clear", JOB[:-1]]]
)
def test_what_is_no_id(windlass: Command, words: list[str]) -> None:
    answer = windlass.here(*words)
    assert answer.code == 2
    assert f"'{words[-1]}' is not an id: one has 32 hexadecimal digits" in answer.err


def test_a_schema_that_does_not_fit_says_what_to_do_and_not_to_ask_itself(
    empty_db: Database, tmp_path: Path
) -> None:
    answer = Command(tmp_path, empty_db.url("owner")).here("migrate", "--check")
    assert answer.code == 8
    assert "run `windlass migrate`" in answer.err
    assert "--check" not in answer.err
