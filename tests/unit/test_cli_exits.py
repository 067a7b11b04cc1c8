"""Every error has an exit code that scripts can use and a sentence that people can."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
import typer

from windlass.cli.exits import CODES_HELP, Exit, describe, exit_code, report
from windlass.cli.main import Line, run
from windlass.errors import ERROR_CLASSES, InvalidInput, JobFailed, NotFound, WindlassError

COMMANDS = Path(__file__).parents[2] / "docs" / "commands.md"


@pytest.mark.parametrize("cls", ERROR_CLASSES)
def test_every_error_has_its_exit_code(cls: type[WindlassError]) -> None:
    code = exit_code(cls.code)
    assert (code is Exit.FAILED) == (cls is WindlassError)
    assert code not in (Exit.OK, Exit.USAGE, Exit.INTERRUPTED)


def test_help_and_documentation_name_every_code() -> None:
    documented = COMMANDS.read_text()
    for code in Exit:
        assert re.search(rf"^ *{code.value} ", CODES_HELP, re.MULTILINE), code
        assert re.search(rf"^\| {code.value} \|", documented, re.MULTILINE), code
    for cls in ERROR_CLASSES[1:]:
        assert f"`{cls.code}`" in documented, cls.code


def test_an_error_is_one_sentence_with_its_code_and_what_to_do() -> None:
    text = report(*describe(NotFound("there is no job 7")), as_json=False)
    assert text.splitlines() == [
        "windlass: there is no job 7 [not_found]",
        "  Check the name or id, and the tenant it belongs to (--tenant).",
    ]
    hinted = report(*describe(NotFound("there is no job 7", hint="Look again.")), as_json=False)
    assert hinted.splitlines()[1:] == ["  Look again."]


def test_an_error_as_json() -> None:
    error = JobFailed("job 7 is dead", state="dead", attempts=5)
    assert json.loads(report(*describe(error), as_json=True)) == {
        "error": {
            "code": "job_failed",
            "message": "job 7 is dead",
            "details": {"state": "dead", "attempts": 5},
        }
    }


def test_an_error_as_json_says_what_to_do_too() -> None:
    def hint(error: NotFound) -> str:
        return str(json.loads(report(*describe(error), as_json=True))["error"]["details"]["hint"])

    assert hint(NotFound("there is no job 7")).startswith("Check the name or id")
    assert hint(NotFound("there is no job 7", hint="Look again.")) == "Look again."


def test_a_refused_choice_has_no_words_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["queues", "set", "mail", "--mode", "bogus"]) == Exit.USAGE
    told = capsys.readouterr().err
    assert "Invalid value for '--mode': 'bogus' is not one of 'fair', 'strict'." in told


def test_all_excludes_a_filter_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["jobs", "redrive", "--all", "--kind", "mail"]) == Exit.USAGE
    assert "--all is every dead job of the tenant: it excludes ids and filters" in capsys.readouterr().err
    assert run(["jobs", "redrive"]) == Exit.USAGE
    assert "or say --all" in capsys.readouterr().err


@pytest.mark.parametrize("interval", ["0", "99ms"])
def test_top_does_not_look_without_a_pause(interval: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["top", "--interval", interval]) == Exit.INVALID_INPUT
    assert "--interval must be 0.1 s or more" in capsys.readouterr().err


def test_no_error_message_can_play_with_the_terminal() -> None:
    assert "\x1b" not in report(*describe(InvalidInput("bad \x1b[2J name")), as_json=False)


def test_an_error_of_a_handler_stays_on_one_line() -> None:
    error = JobFailed("job 7 is dead: no such address\nwindlass: all is well [ok]\ttruly")
    (line,) = report(*describe(error), as_json=False).splitlines()
    assert (
        line == "windlass: job 7 is dead: no such address\\nwindlass: all is well [ok]\\ttruly [job_failed]"
    )


def test_a_traceback_is_shown_only_when_asked_for() -> None:
    try:
        raise ValueError("surprise")
    except ValueError as caught:
        error = caught
    assert describe(error)[:2] == ("internal", "ValueError: surprise")
    assert "Traceback" not in report(*describe(error), as_json=False)
    assert "Traceback" in report(*describe(error), as_json=False, error=error)
    assert (
        "Traceback" in json.loads(report(*describe(error), as_json=True, error=error))["error"]["traceback"]
    )


def test_words_about_errors_are_found_wherever_they_stand() -> None:
    line = Line.read(["jobs", "--debug", "list", "--json"], debug=False)
    assert line == Line(["jobs", "list", "--json"], as_json=True, debug=True)
    quoted = Line.read(["enqueue", "echo", "--", "--debug", "--json"], debug=False)
    assert quoted == Line(["enqueue", "echo", "--", "--debug", "--json"], as_json=False, debug=False)


def test_a_wrong_command_line_exits_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nonsense"]) == Exit.USAGE
    assert "No such command 'nonsense'" in capsys.readouterr().err
    assert run(["version", "--wrong", "--json"]) == Exit.USAGE
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "usage"


def test_a_refused_question_changes_nothing_and_says_so() -> None:
    assert describe(typer.Abort())[:2] == ("aborted", "nothing was done")


def help_written_to(output: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "windlass", "--help"]
    return subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False, timeout=60)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_a_full_device_is_told_in_a_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = help_written_to(full.fileno())
    assert done.returncode == Exit.FAILED
    assert "there is no room to write to" in done.stderr
    assert "not foreseen" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_output_that_nobody_reads_is_no_fault_of_ours() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = help_written_to(writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (Exit.OUTPUT_CLOSED, "")


@pytest.mark.parametrize("words", [[], ["cluster"]])
def test_the_help_alone_needs_no_advice(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == Exit.USAGE
    shown = capsys.readouterr()
    assert "Usage: " in shown.out
    assert shown.err == ""


REFUSED = [
    (
        ["enqueue", "x", "--priority", "abc"],
        2,
        "Invalid value for '--priority': must be a whole number, not 'abc'",
    ),
    (
        ["jobs", "reschedule", str(UUID(int=7)), "--delay", "2h", "--run-at", "2030-01-01T00:00:00Z"],
        2,
        "--run-at and --delay exclude each other",
    ),
    (
        ["enqueue", "x", "--delay", "2h", "--run-at", "2030-01-01T00:00:00Z"],
        2,
        "--run-at and --delay exclude each other",
    ),
    (["enqueue", "x", '{"a": 1, "b": {"c": 1, "c": 2}}'], 6, "the payload names 'c' twice in one object"),
    (["worker", "shop_here:app", "--queues", "a b"], 6, "--queues is 'a b', but "),
    (["worker", "shop_here:app", "--concurrency", "0"], 6, "--concurrency is 0, but must be 1 or more"),
    (["worker", "shop_here:app", "--lease", "0"], 6, "--lease is 0, but must be 0.1 or more"),
    (["worker", "shop_here:app", "--grace", "500d"], 6, "--grace is 43200000, but must be 86400 or less"),
]


@pytest.mark.parametrize(("words", "code", "sentence"), REFUSED)
def test_a_refused_value_is_told_by_its_option(
    words: list[str],
    code: int,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "shop_here.py").write_text(
        "from windlass import Windlass\napp = Windlass()\n@app.job\ndef f(): ...\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "shop_here", raising=False)
    monkeypatch.setenv("WINDLASS_DATABASE_URL", "postgresql://nobody@nowhere.invalid/none")
    assert run(words) == code
    assert f"windlass: {sentence}" in capsys.readouterr().err
