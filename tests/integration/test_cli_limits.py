"""`windlass limits` and `windlass jobs explain`, as a person or a script uses them."""

from pathlib import Path

import pytest

from tests.integration.command import Command
from tests.support import Database


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    return Command(tmp_path, db.url())


def test_a_limit_is_set_listed_and_cleared(windlass: Command) -> None:
    windlass.here("tenants", "create", "acme").ok()
    said = (
        windlass.here("limits", "set", "--tenant", "acme", "--concurrency", "3", "--rate", "100/min").ok().out
    )
    assert said == "tenant acme: at most 3 run; at most 100 in 1m start\n"
    more = ("--budget-cents", "500", "--warn-cents", "400", "--per", "hour", "--reason", "plan")
    made = windlass.here("limits", "set", "--tenant", "acme", *more, "--json").ok().json
    assert (made["tenant"], made["concurrency"], made["budget_period"], made["reason"]) == (
        "acme",
        3,
        "hour",
        "plan",
    )
    (listed,) = windlass.here("limits", "--json").ok().json["items"]
    assert {**listed, "read_at": 0, "tokens": 0} == {**made, "read_at": 0, "tokens": 0}
    _, row = windlass.here("limits", "list", "--tenant", "acme").ok().out.splitlines()
    assert row.startswith("tenant acme")
    for cell in ("0/3", "100 in 1m", "0/500 an hour", "plan"):
        assert cell in row
    assert (
        windlass.here("limits", "clear", "--tenant", "acme", "--what", "rate,budget").ok().out
        == "cleared rate, budget\n"
    )
    assert windlass.here("limits", "clear", "--tenant", "acme", "--json").ok().json == {"id": made["id"]}
    assert windlass.here("limits").err == "no limits\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["set", "--concurrency", "3"], 2),
        (["set", "--everything", "--queue", "mail", "--depth", "3"], 2),
        (["set", "--queue", "mail", "--rate", "100"], 2),
        (["set", "--queue", "mail", "--budget-cents", "10.50"], 2),
        (["set", "--queue", "mail", "--budget-cents", "10", "--per", "year"], 2),
        (["set", "--queue", "mail"], 6),
        (["set", "--queue", "mail", "--rate", "5/0s"], 6),
        (["set", "--queue", "mail", "--concurrency", "-1"], 6),
        (["set", "--tenant", "nobody", "--depth", "1"], 3),
        (["clear"], 2),
        (["clear", "--queue", "mail"], 3),
        (["clear", "--queue", "mail", "--what", "colour"], 2),
    ],
)
def test_wrong_limits(windlass: Command, words: list[str], code: int) -> None:
    answer = windlass.here("limits", *words, "--json")
    assert (answer.code, answer.out) == (code, "")
    assert answer.error["message"]


def test_a_full_line_says_what_and_how_much(windlass: Command) -> None:
    windlass.here("limits", "set", "--queue", "mail", "--depth", "1").ok()
    windlass.here("enqueue", "send", "--queue", "mail").ok()
    refused = windlass.here("enqueue", "send", "--queue", "mail", "--json")
    assert (refused.code, refused.error["code"]) == (11, "limit_exceeded")
    assert refused.error["details"]["waiting"] == 1


def test_why_a_job_waits(windlass: Command) -> None:
    windlass.here("gates", "set", "--queue", "default", "--until", "2h", "--reason", "relay is down").ok()
    first = windlass.here("enqueue", "send", "--concurrency-key", "ann").ok().out.strip()
    second = (
        windlass.here("enqueue", "send", "--concurrency-key", "ann", "--concurrency-limit", "1")
        .ok()
        .out.strip()
    )
    headline, *lines = windlass.here("jobs", "explain", second).ok().out.splitlines()
    assert headline == f"{second}  cannot run now, for 2 reasons"
    assert [line.split()[0] for line in lines[::2]] == ["key", "gate", "no_worker"]
    assert lines[3].endswith(", in 1h 59m")
    found = windlass.here("jobs", "explain", first, "--json").ok().json
    assert (found["id"], found["claimable"]) == (first, False)
    assert [reason["code"] for reason in found["reasons"]] == ["gate", "no_worker"]
    assert found["reasons"][0]["details"]["reason"] == "relay is down"
    assert f"windlass jobs explain {first}" in windlass.here("jobs", "show", first).ok().out
    assert windlass.here("jobs", "explain", "00000000-0000-7000-8000-0000000000ff").code == 3


def test_watching_tells_each_change_until_the_end(windlass: Command) -> None:
    job = windlass.here("enqueue", "send").ok().out.strip()
    with windlass.running("jobs", "explain", job, "--watch") as running:
        assert [reason["code"] for reason in running.ready["reasons"]] == ["no_worker", "line"]
        windlass.here("jobs", "cancel", job).ok()
        ended = running.stop(0)  # no signal: it ends by itself
    assert ended.code == 0
    assert [reason["code"] for reason in ended.lines[-1]["reasons"]] == ["canceled"]


def test_colors_are_for_terminals_only(windlass: Command) -> None:
    job = windlass.here("enqueue", "send").ok().out.strip()
    assert "\x1b[" in windlass.on_terminal("jobs", "explain", job).out
    assert "\x1b[" not in windlass.here("jobs", "explain", job).ok().out
