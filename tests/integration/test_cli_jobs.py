"""`windlass enqueue` and `windlass jobs`, as scripts and people use them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.command import Command
from tests.support import Database
from windlass.cli.exits import Exit

NOBODY = "00000000-0000-7000-8000-0000000000ff"
DOCUMENTED = Path(__file__).parents[2] / "docs" / "commands.md"


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    return Command(tmp_path, db.url())


def work(db: Database, *, error: str | None = None, result: Any = None) -> str:
    """Do the next job as a worker does; its id."""
    claim = "select job_id, token from windlass.claim_jobs(%s, array['default'], null, 1)"
    job = db.fetch_row(claim, NOBODY)
    words = ([job.token], [job.job_id])
    if error is None:
        db.fetch("select windlass.complete_jobs(%s, %s, %s::text[]::jsonb[])", *words, [json.dumps(result)])
    else:
        errors = [json.dumps({"type": "ValueError", "message": error})]
        db.fetch("select windlass.fail_jobs(%s, %s, %s::text[]::jsonb[])", *words, errors)
    return str(job.job_id)


def test_enqueue_prints_the_id_and_show_tells_all(windlass: Command) -> None:
    job_id = windlass("enqueue", "greet", '{"name": "Ann"}', "--priority", 3, "--correlation-id", "c1").ok()
    assert re.fullmatch(r"[0-9a-f-]{36}\n", job_id.out)
    assert job_id.err == ""

    shown = windlass.here("jobs", "show", job_id.out.strip(), "--json").ok().json
    assert shown["job"]["payload"] == {"name": "Ann"}
    assert (shown["job"]["priority"], shown["job"]["correlation_id"]) == (3, "c1")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", shown["job"]["created_at"])
    assert shown["attempts"] == []
    assert [step["what"] for step in shown["history"]] == ["enqueued"]

    # A field that a script may rely on is documented, and the other way round.
    listed = DOCUMENTED.read_text().partition("### The fields of a job")[2].partition("###")[0]
    names = set(re.findall(r"`(\w+)`", listed)) - {"scheduled", "retrying"}
    assert names == set(shown["job"])

    plain = windlass.here("jobs", "show", job_id.out.strip()).ok().out
    assert '"name": "Ann"' in plain
    assert "\x1b" not in plain


def test_a_duplicate_is_found_and_a_conflict_refused(windlass: Command) -> None:
    first = windlass.here("enqueue", "bill", '{"n": 1}', "--key", "k", "--json").ok().json
    again = windlass.here("enqueue", "bill", '{"n": 1}', "--key", "k", "--json").ok().json
    assert (first["created"], again["created"], again["id"]) == (True, False, first["id"])

    conflict = windlass.here("enqueue", "bill", '{"n": 2}', "--key", "k", "--json")
    assert (conflict.code, conflict.out) == (4, "")
    assert conflict.error["code"] == "idempotency_conflict"
    human = windlass.here("enqueue", "bill", '{"n": 2}', "--key", "k")
    assert human.err.splitlines()[0].endswith("[idempotency_conflict]")
    assert len(human.err.splitlines()) == 2
    assert "Traceback" not in human.err


@pytest.mark.parametrize(
    ("words", "input", "code", "sentence"),
    [
        (["greet", "nonsense"], "", 6, "the payload is not JSON"),
        (["greet", "-"], "", 6, "the payload on standard input is not JSON"),
        (["greet", '{"a": NaN}'], "", 6, "is nan, which JSON cannot hold"),
        (["greet", '"\\u0000"'], "", 6, "contains a NUL character"),
        (["greet", "-"], json.dumps("x" * 1_100_000), 6, "bytes of JSON; the limit is"),
        (["not a kind"], "", 6, "cannot be a kind"),
        (["greet", "--priority", "1000000"], "", 6, "the priority must be"),
        (["greet", "--tenant", "nobody"], "", 3, "there is no tenant 'nobody'"),
        (["greet", "--run-at", "2030-01-31T09:00"], "", 2, "needs its time zone"),
        (
            ["greet", "--run-at", "2030-01-31T09:00:00Z", "--delay", "5m"],
            "",
            2,
            "--run-at and --delay exclude each other",
        ),
        (["greet", "--delay", "soon"], "", 2, "is not a length of time"),
        (["greet", "--retry", "never"], "", 6, "there is no retry preset 'never'"),
        (["greet", "--scope", "never"], "", 2, "'forever', 'active'"),
        (["greet", "--wait-timeout", "5"], "", 2, "--wait-timeout needs --wait"),
        ([], "", 2, "Missing argument 'KIND'"),
    ],
)
def test_what_cannot_be_enqueued(
    windlass: Command, words: list[str], input: str, code: int, sentence: str
) -> None:
    answer = windlass.here("enqueue", *words, input=input)
    assert (answer.code, answer.out) == (code, ""), answer
    assert sentence in answer.err
    assert "Traceback" not in answer.err


def test_a_payload_may_come_from_standard_input(windlass: Command) -> None:
    job_id = windlass("enqueue", "greet", "-", input='["漢", 1]\n').ok().out.strip()
    assert windlass.here("jobs", "show", job_id, "--json").ok().json["job"]["payload"] == ["漢", 1]


def test_a_delayed_job_is_rescheduled_and_canceled(windlass: Command) -> None:
    job_id = windlass.here("enqueue", "greet", "--delay", "1h").ok().out.strip()
    (listed,) = windlass.here("jobs", "--state", "scheduled", "--json").ok().json["items"]
    assert (listed["id"], listed["state"], listed["shown_state"]) == (job_id, "queued", "scheduled")

    moved = (
        windlass.here("jobs", "reschedule", job_id, "--priority", 9, "--reason", "urgent", "--json").ok().json
    )
    assert (moved["id"], moved["run_at"]) == (job_id, listed["run_at"])
    windlass.here("jobs", "reschedule", job_id).ok()
    assert windlass.here("jobs", "list", "--state", "scheduled", "--json").ok().json["items"] == []

    assert windlass.here("jobs", "cancel", job_id, "--reason", "not wanted").ok().out == "canceled\n"
    shown = windlass.here("jobs", "show", job_id).ok().out
    assert re.search(r"^state +canceled$", shown, re.MULTILINE)
    assert re.search(r"^reason +not wanted$", shown, re.MULTILINE)
    late = windlass.here("jobs", "reschedule", job_id, "--json")
    assert (late.code, late.error["code"]) == (4, "invalid_transition")


def test_the_actor_is_kept_in_the_history(windlass: Command) -> None:
    job_id = windlass.here("enqueue", "greet").ok().out.strip()
    windlass.here("jobs", "cancel", job_id).ok()
    last = windlass.here("jobs", "show", job_id, "--json").ok().json["history"][-1]
    assert "@" in last["actor"]


@pytest.mark.parametrize("verb", ["show", "cancel", "reschedule", "redrive", "wait"])
def test_an_unknown_job_and_a_foreign_one_get_the_same_answer(windlass: Command, verb: str) -> None:
    windlass.here("tenants", "create", "acme").ok()
    foreign = windlass.here("enqueue", "greet", "--tenant", "acme").ok().out.strip()
    answers = [windlass.here("jobs", verb, job_id, "--json") for job_id in (NOBODY, foreign)]
    assert [answer.code for answer in answers] == [3, 3]
    assert [answer.error["message"] for answer in answers] == [
        f"there is no job {job_id}" for job_id in (NOBODY, foreign)
    ]


def test_part_of_an_id_is_not_an_id(windlass: Command) -> None:
    answer = windlass.here("jobs", "show", "01990f3c")
    assert answer.code == 2
    assert "'ID'" in answer.err


def test_listing_by_pages_and_filters(windlass: Command) -> None:
    ids = [windlass.here("enqueue", kind, "--queue", "q").ok().out.strip() for kind in ("a", "b", "a")]
    assert [job["id"] for job in windlass.here("jobs", "--all", "--json").ok().lines] == ids[::-1]

    first = windlass.here("jobs", "list", "--limit", 2, "--json").ok().json
    second = windlass.here("jobs", "list", "--limit", 2, "--cursor", first["next_cursor"], "--json").ok().json
    assert [job["id"] for job in first["items"] + second["items"]] == ids[::-1]
    assert second["next_cursor"] is None

    kinds = (
        windlass.here("jobs", "list", "--kind", "a", "--queue", "q,other", "--since", "1h", "--json")
        .ok()
        .json
    )
    assert [job["id"] for job in kinds["items"]] == [ids[2], ids[0]]
    assert windlass.here("jobs", "list", "--until", "1h", "--json").ok().json["items"] == []

    table = windlass.here("jobs", "list", "--limit", 2).ok()
    header, *rows = table.out.splitlines()
    assert header.split()[:4] == ["ID", "KIND", "QUEUE", "STATE"]
    assert [row.split()[0] for row in rows] == [ids[2], ids[1]]
    assert f"--cursor {first['next_cursor']}" in table.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--state", "lost"], 6),
        (["--cursor", "nonsense"], 6),
        (["--limit", "0"], 2),
        (["--all", "--cursor", "x"], 2),
        (["--all", "--limit", "2"], 2),
        (["--kind", "a,,b"], 2),
        (["--since", "yesterday"], 2),
        (["--nonsense"], 2),
    ],
)
def test_a_wrong_listing(windlass: Command, words: list[str], code: int) -> None:
    answer = windlass.here("jobs", "list", *words, "--json")
    assert (answer.code, answer.out) == (code, "")
    assert answer.error["message"]


def test_waiting_for_a_result(windlass: Command, db: Database) -> None:
    job_id = windlass.here("enqueue", "greet").ok().out.strip()
    early = windlass("jobs", "wait", job_id, "--timeout", "50ms", "--json")
    assert (early.code, early.error["code"]) == (10, "wait_timeout")

    work(db, result={"greeting": "hello"})
    assert windlass.here("jobs", "wait", job_id).ok().json == {"greeting": "hello"}
    assert windlass.here("jobs", "wait", job_id, "--json").ok().json == {
        "id": job_id,
        "state": "succeeded",
        "result": {"greeting": "hello"},
    }
    done = windlass.here("jobs", "cancel", job_id, "--json")
    assert (done.code, done.error["code"]) == (4, "invalid_transition")


def test_waiting_for_a_job_that_ends_otherwise(windlass: Command, db: Database) -> None:
    job_id = windlass.here("enqueue", "greet", "--max-attempts", 1).ok().out.strip()
    work(db, error="no such name")
    answer = windlass.here("jobs", "wait", job_id, "--json")
    assert (answer.code, answer.error["code"], answer.error["details"]["state"]) == (9, "job_failed", "dead")
    shown = windlass.here("jobs", "show", job_id).ok().out
    assert "ValueError: no such name" in shown
    assert re.search(r"^ +1 +failed ", shown, re.MULTILINE)


def test_redriving_by_id_and_by_filter(windlass: Command, db: Database) -> None:
    ids = [
        windlass.here("enqueue", kind, "--max-attempts", 1).ok().out.strip()
        for kind in ("mail", "mail", "bill")
    ]
    for error in ("relay timeout", "bad address", "relay timeout"):
        work(db, error=error)
    filtered = ("jobs", "redrive", "--kind", "mail", "--error", "%timeout%")

    trial = windlass.here(*filtered, "--dry-run", "--json").ok().json
    assert (trial["dry_run"], [job["job_id"] for job in trial["items"]]) == (True, [ids[0]])
    assert "relay timeout" in windlass.here(*filtered, "--dry-run").ok().out
    assert windlass.here("jobs", "show", ids[0], "--json").ok().json["job"]["state"] == "dead"

    unasked = windlass.here(*filtered)
    assert (unasked.code, unasked.out) == (2, "")
    assert "--yes" in unasked.err

    assert windlass.here(*filtered, "--yes", "--reason", "relay is back").ok().out == "1 job redriven\n"
    redriven = windlass.here("jobs", "show", ids[0], "--json").ok().json
    assert redriven["job"]["state"] == "queued"
    assert redriven["history"][-1]["reason"] == "relay is back"

    stopped = windlass.here("jobs", "redrive", ids[0], ids[1], "--json")
    assert (stopped.code, stopped.error["code"]) == (4, "invalid_transition")
    assert len(windlass.here("jobs", "redrive", ids[1], ids[2], "--json").ok().json["items"]) == 2


@pytest.mark.parametrize("words", [[], [NOBODY, "--kind", "mail"]])
def test_a_redrive_must_say_of_what(windlass: Command, words: list[str]) -> None:
    answer = windlass.here("jobs", "redrive", *words)
    assert answer.code == 2
    assert "by their ids, or by a filter, or say --all" in answer.err


def test_a_redrive_is_confirmed_on_a_terminal(windlass: Command, db: Database) -> None:
    windlass.here("enqueue", "mail", "--max-attempts", 1).ok()
    job_id = work(db, error="x")

    refused = windlass.on_terminal("jobs", "redrive", "--all", typed="n\n")
    assert refused.code == 1
    assert "Redrive 1 dead job?" in refused.out
    assert "nothing was done" in refused.out
    assert windlass.here("jobs", "show", job_id, "--json").ok().json["job"]["state"] == "dead"

    agreed = windlass.on_terminal("jobs", "redrive", "--all", typed="y\n")
    assert agreed.code == 0
    assert "1 job redriven" in agreed.out


def test_a_terminal_gets_colors_unless_it_does_not_want_them(windlass: Command, db: Database) -> None:
    job_id = windlass.here("enqueue", "mail", "--max-attempts", 1).ok().out.strip()
    work(db, error="\x1b]0;owned\x07")

    painted = windlass.on_terminal("jobs", "list").ok().out
    assert re.search(r"\x1b\[[\d;]*31m *dead", painted)
    windlass.environment["NO_COLOR"] = "1"
    sober = windlass.on_terminal("jobs", "list").ok().out
    assert job_id in sober
    assert not re.search(r"\x1b\[[\d;]*3\dm", sober)
    # What a failed job left behind is shown, and does nothing to the terminal.
    shown = windlass.on_terminal("jobs", "show", job_id).ok().out
    assert "\\x1b]0;owned\\x07" in shown
    assert "\x1b]0;" not in shown


def test_listings_can_be_read_in_eighty_columns(windlass: Command, db: Database) -> None:
    job_id = windlass.here("enqueue", "send_mail", "--max-attempts", 1).ok().out.strip()
    work(db, error="the relay did not answer in time")
    windlass.here("enqueue", "report", "--queue", "slow").ok()
    gate = windlass.here("gates", "set", "--queue", "mail", "--reason", "relay is down", "--json").ok().json

    def seen(*words: str) -> str:
        return re.sub(r"\x1b\[[\d;]*m", "", windlass.on_terminal(*words).ok().out)

    windlass.environment["COLUMNS"] = "80"
    jobs = seen("jobs", "list")
    assert re.search(rf"{job_id} +send_mail +(default +)?dead ", jobs), jobs
    assert re.search(r" report +(slow +)?queued ", jobs), jobs
    assert "Left out, for want of room: PRIORITY (0)" in jobs
    audit = seen("audit", "list")
    assert re.search(rf"\d\d-\d\d \d\d:\d\d:\d\d +job\.dead +\S+ +{job_id}", audit), audit
    gates = seen("gates")
    assert re.search(rf"{gate['id']} +queue mail +relay is down", gates), gates
    assert re.search(r"QUEUE +MODE +AGEING +READY +SCHEDULED +RUNNING +OLDEST +WAITING NODES", seen("queues"))
    assert re.search(r"default +[0-9a-f-]{36} ", seen("tenants"))
    assert re.search(r"\b1 +failed +\d\d-\d\d \d\d:\d\d:\d\d .*the relay", seen("jobs", "show", job_id))
    # Where no person reads, nothing is shortened.
    assert re.search(rf"{job_id}  send_mail  default +dead +1/1 +0 ", windlass("jobs", "list").ok().out)


def test_a_reader_that_has_seen_enough_is_no_error(windlass: Command) -> None:
    windlass.here("enqueue", "mail").ok()
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "windlass", "jobs", "list", "--json"]
    environment = windlass.environment
    done = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, env=environment, text=True, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (Exit.OUTPUT_CLOSED, "")
