"""What the command prints is stable for programs and harmless on a terminal."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from uuid import UUID

import pytest

from windlass.cli.options import to_moment
from windlass.cli.text import clean, moment, plain, pretty, span, stamp
from windlass.model import JobState

ID = UUID("0198c0de-0000-7000-8000-000000000001")
NOON = datetime(2030, 1, 31, 12, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Sample:
    id: UUID
    at: datetime | None
    state: JobState
    names: tuple[str, ...]


def test_values_become_plain_json() -> None:
    sample = Sample(ID, NOON, JobState.DEAD, ("a", "b"))
    assert json.loads(json.dumps(plain({"sample": sample, "took": timedelta(minutes=2)}))) == {
        "sample": {"id": str(ID), "at": "2030-01-31T12:00:00.000000Z", "state": "dead", "names": ["a", "b"]},
        "took": 120.0,
    }
    assert plain([None, True, 1, 1.5, Path("/a")]) == [None, True, 1, 1.5, "/a"]


def test_times_are_in_utc_and_sort_as_text() -> None:
    local = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert moment(local) == "2030-01-31T12:00:00.000000Z"
    assert moment(NOON) < moment(NOON + timedelta(microseconds=1)) < moment(NOON + timedelta(seconds=1))


def test_people_get_times_to_the_millisecond_and_can_give_them_back() -> None:
    local = NOON.replace(microsecond=123_999).astimezone(timezone(timedelta(hours=-8)))
    assert stamp(local) == "2030-01-31T12:00:00.123Z"
    assert to_moment(stamp(NOON)) == NOON


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode 漢字", "plain ünïcode 漢字"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\x9b31mred", "a\\x9b31mred"),
        ("one\ntwo\tthree\r", "one\\ntwo\\tthree\\r"),
        ("right-to-left \u202e override", "right-to-left \\u202e override"),
        ("lone \ud800 half", "lone \\ud800 half"),
    ],
)
def test_control_characters_are_spelled_out(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_lines_may_be_kept_but_nothing_else_is() -> None:
    assert clean("one\n\ttwo\r\x1b[2J", lines=True) == "one\n\ttwo\\r\\x1b[2J"
    assert "\x9b" not in pretty({"text": "\x9b2J"})


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0ms"),
        (0.0123, "12ms"),
        (1, "1s"),
        (59.9, "59s"),
        (60, "1m"),
        (200, "3m 20s"),
        (3600, "1h"),
        (18_450, "5h 7m"),
        (187_200, "2d 4h"),
        (-90, "-1m 30s"),
    ],
)
def test_lengths_of_time(seconds: float, shown: str) -> None:
    assert span(seconds) == shown
