"""Limits and explanations as values, and as the command shows them."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import typer

from windlass.cli.jobs.explain import lines_of
from windlass.cli.limits import in_words, print_limits, to_rate
from windlass.errors import InvalidInput
from windlass.model.explanation import Explanation, Reason
from windlass.model.limit import Limit, NewLimit

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
SOME_ID = UUID("0190a000-0000-7000-8000-000000000001")


@pytest.mark.parametrize(
    "said",
    [
        {"concurrency": -1},
        {"concurrency": True},
        {"concurrency": 2**31},
        {"rate": 0},
        {"rate": 1.5},
        {"rate": 1, "per": 0},
        {"rate": 1, "per": float("nan")},
        {"rate": 1, "per": float("inf")},
        {"rate": 1, "per": timedelta(days=-1)},
        {"rate": 1, "per": "60"},
        {"rate": 1, "burst": 0},
        {"depth": -1},
        {"budget_cents": 10.5},
        {"budget_cents": -1},
        {"budget_cents": 5, "warn_cents": 6},
        {"warn_cents": 0.1},
        {"budget_cents": 5, "budget_period": "fortnight"},
        {"queue": "no such name", "depth": 1},
        {"kind": "", "depth": 1},
    ],
)
def test_what_makes_no_sense_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        NewLimit(**said)


def test_a_period_is_seconds_or_a_timedelta() -> None:
    assert NewLimit(rate=5, per=timedelta(minutes=1)).rate_seconds == NewLimit(rate=5, per=60).rate_seconds


def test_what_is_limited_in_words() -> None:
    assert Limit(id=1).scope == "everything"
    assert Limit(id=1, tenant_id=SOME_ID, tenant="acme", kind="import").scope == "tenant acme, kind import"
    said = Limit(
        id=1,
        concurrency=3,
        rate=100,
        rate_seconds=60.0,
        burst=20,
        depth=5000,
        budget_cents=1000,
        warn_cents=800,
        budget_period="day",
    )
    assert list(in_words(said)) == [
        "at most 3 run",
        "at most 100 in 1m, 20 at once start",
        "at most 5,000 wait",
        "at most 1,000 cents a day",
        "a warning at 800 cents a day",
    ]


def test_the_table_shows_what_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    used = Limit(
        id=1,
        queue="mail",
        concurrency=10,
        running=3,
        rate=5,
        rate_seconds=1.0,
        burst=5,
        tokens=0.25,
        depth=9,
        waiting=10,
        budget_cents=50,
        budget_period="day",
        spent_cents=51,
        again_at=NOON + timedelta(seconds=42),
        read_at=NOON,
    )
    hidden = Limit(id=2, kind="import", concurrency=10)
    print_limits([used, hidden])
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split("  ")[0] == "LIMIT ON"
    for cell in ("queue mail", "3/10", "5 in 1s", "0.2/5", ">9/9", "51/50 a day", "in 42s"):
        assert cell in first
    assert "?/10" in second


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100/60s", (100, 60)),
        ("100/min", (100, 60)),
        ("5/1h30m", (5, 5400)),
        ("1 / s", (1, 1)),
        ("9/hour", (9, 3600)),
        ("9/d", (9, 86_400)),
        ("9/500ms", (9, 0.5)),
        ("9/90", (9, 90)),
    ],
)
def test_a_rate_on_the_command_line(text: str, expected: tuple[int, float]) -> None:
    assert to_rate(text) == expected


@pytest.mark.parametrize("text", ["100", "100/", "/min", "x/min", "-5/min", "1.5/min", "5/fortnight"])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        to_rate(text)


def explained(*reasons: Reason) -> list[str]:
    found = Explanation(job_id=SOME_ID, reasons=reasons, read_at=NOON)
    return ["".join(text for text, _ in line) for line in lines_of(found)]


def test_an_explanation_for_people() -> None:
    worker = Reason(code="no_worker", blocks=False, says="no node", clears="starting a worker")
    gate = Reason(
        code="gate",
        blocks=True,
        says="ann closed it\x1b[2J",
        clears="clearing the gate, or time",
        clears_at=NOON + timedelta(seconds=42),
    )
    key = Reason(code="key", blocks=True, says="others before it", clears="their end")
    assert explained(worker, gate, key) == [
        f"{SOME_ID}  cannot run now, for 2 reasons",
        "  gate       ann closed it\\x1b[2J",
        "             ends with: clearing the gate, or time; 2030-01-01T12:00:42.000Z, in 42s",
        "  key        others before it",
        "             ends with: their end",
        "  no_worker  no node",
        "             ends with: starting a worker",
    ]


@pytest.mark.parametrize(
    ("code", "blocks", "left", "headline", "until"),
    [
        ("running", True, 3, "is running", "lease for another 3s, unless it is renewed"),
        ("dead", True, None, "has ended: dead", "with: its end"),
        ("line", False, 3, "is free to run", "with: its end, in about 3s"),
        ("rate", True, 3, "cannot run now, for 1 reason", "T12:00:03.000Z, in 3s"),
        ("lease_expired", True, 0, "cannot run now, for 1 reason", "T12:00:00.000Z, now"),
    ],
)
def test_what_becomes_of_a_job_and_when(
    code: str, blocks: bool, left: int | None, headline: str, until: str
) -> None:
    clears_at = None if left is None else NOON + timedelta(seconds=left)
    reason = Reason(code=code, blocks=blocks, says="so it is", clears="its end", clears_at=clears_at)
    first, _, last = explained(reason)
    assert headline in first
    assert last.endswith(until)


def test_what_an_explanation_says_to_programs() -> None:
    line = Reason(code="line", blocks=False, says="")
    rate = Reason(code="rate", blocks=True, says="")
    free = Explanation(job_id=SOME_ID, reasons=(line,), read_at=NOON)
    held = Explanation(job_id=SOME_ID, reasons=(rate, line), read_at=NOON)
    assert (free.claimable, held.claimable, held.blocking) == (True, False, (rate,))
    assert (free.ended, free.running, len(held), list(free)) == (False, False, 2, [line])
