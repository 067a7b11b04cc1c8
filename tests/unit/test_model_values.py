"""Names, decisions, ids, and exceptions as error JSON."""

import json
import math
import pickle
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import RFC_4122

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.errors import InvalidInput
from windlass.model import (
    Cancel,
    NewJob,
    RetryAfter,
    Skip,
    Snooze,
    check_idempotency_key,
    check_json,
    check_kind,
    check_queue,
    check_slug,
    describe_exception,
    storable_text,
    uuid7,
    uuid7_many,
)
from windlass.model.failure import MIN_ERROR_BYTES
from windlass.model.names import plural, with_article
from windlass.model.retry import MAX_DELAY_SECONDS

any_text = st.text(st.characters(codec=None) | st.sampled_from('\x00\ud800\udfff"\\\x1b\n'))


@pytest.mark.parametrize(
    "name", ["default", "a", "connector.http.request", "EMAIL_SEND", "a:b/c-d", "_x", "x" * 100]
)
def test_names_that_are_fine(name: str) -> None:
    assert check_queue(name) == name
    assert check_kind(name) == name


@pytest.mark.parametrize(
    "name", ["", " a", "a b", "a\n", "-a", ".a", "é", "a\x00", "a;b", "a'", "\ud800", "x" * 201, None, 1]
)
def test_names_that_are_not(name: Any) -> None:
    for check in (check_queue, check_kind, check_slug):
        with pytest.raises(InvalidInput):
            check(name)


def test_lengths_differ_by_what_is_named() -> None:
    assert check_kind("k" * 200)
    with pytest.raises(InvalidInput, match="the queue is 101 characters long; at most 100 are allowed"):
        check_queue("q" * 101)
    with pytest.raises(InvalidInput, match="the tenant slug is 101 characters"):
        check_slug("s" * 101)


@pytest.mark.parametrize("slug", ["Acme", "a.b", "_a", "-", "a/b"])
def test_slugs_are_narrower(slug: str) -> None:
    assert check_slug("acme-2_eu")
    with pytest.raises(InvalidInput):
        check_slug(slug)


def test_idempotency_keys_are_any_text() -> None:
    assert check_idempotency_key("Bestellung № 7 / 2030") == "Bestellung № 7 / 2030"
    assert check_idempotency_key("k" * 500)
    for key in ("", "k" * 501, "a\x00", "\udfff"):
        with pytest.raises(InvalidInput, match="idempotency key"):
            check_idempotency_key(key)


@given(any_text, st.integers(0, 50), st.sampled_from(["start", "end"]))
def test_storable_text_is_storable_and_fits(text: str, limit: int, keep: Any) -> None:
    stored = storable_text(text, limit, keep=keep)
    assert len(stored.encode()) <= limit
    assert "\x00" not in stored


@given(any_text)
def test_storable_text_changes_nothing_else(text: str) -> None:
    if "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text):
        assert storable_text(text, 10_000) == text


def test_storable_text_says_what_was_there() -> None:
    assert storable_text("a\x00b\ud800", 100) == "a\\x00b\\ud800"
    assert storable_text("abcdefgh", 6) == "abc…"
    assert storable_text("abcdefgh", 6, keep="end") == "…fgh"


def test_snooze_takes_a_delay_or_a_moment() -> None:
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    assert Snooze(30).delay_seconds == 30.0
    assert Snooze(timedelta(minutes=2)) == Snooze(120)
    assert Snooze(until=moment).until == moment
    assert Snooze(until=moment).delay_seconds is None


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"seconds": 1, "until": datetime(2030, 1, 1, tzinfo=UTC)},
        {"until": datetime(2030, 1, 1)},  # noqa: DTZ001
        {"seconds": -1},
        {"seconds": math.nan},
        {"seconds": math.inf},
        {"seconds": MAX_DELAY_SECONDS * 2},
        {"seconds": "30"},
        {"seconds": True},
        {"seconds": timedelta(seconds=-1)},
        {"until": "2030-01-01"},
        {"until": 5},
    ],
    ids=str,
)
def test_snooze_refuses(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="Snooze"):
        Snooze(**arguments)


def test_what_cannot_even_be_shown_is_refused_too() -> None:
    for seconds, shown in ((10**400, "10{99}…"), (-(10**5000), "an int")):  # more digits than Python writes
        with pytest.raises(InvalidInput, match=f"takes from 0 seconds to ten years, not {shown}$"):
            RetryAfter(seconds)
        with pytest.raises(InvalidInput, match="Snooze takes from 0 seconds to ten years"):
            Snooze(seconds)


def test_reasons_are_made_storable() -> None:
    assert RetryAfter(timedelta(seconds=3), "busy\x00").reason == "busy\\x00"
    assert RetryAfter(3).delay_seconds == 3.0
    assert Cancel("\ud800").reason == "\\ud800"
    assert len(Skip("é" * 10_000).reason.encode()) <= 2_000


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_an_exception_can_be_the_reason() -> None:
    assert Cancel(ValueError("no address")) == Cancel("no address")
    assert Skip(ValueError()).reason == "ValueError"
    assert RetryAfter(60, KeyError("to\x00")).reason == "'to\\x00'"
    assert Cancel(Mute()).reason == "(no text: str() raised RuntimeError)"
    assert Cancel(None) == Cancel() == Cancel("")
    assert len(Skip(ValueError("é" * 10_000)).reason.encode()) <= 2_000


@pytest.mark.parametrize("reason", [5, b"no", ["no"], ValueError], ids=str)
def test_nothing_else_can(reason: Any) -> None:
    for make in (Cancel, Skip, partial(RetryAfter, 60)):
        with pytest.raises(InvalidInput, match="takes a text or an exception as the reason, not "):
            make(reason)


def test_decisions_travel_between_processes() -> None:
    for made in (Cancel("no"), Skip("no"), RetryAfter(3, "no"), Snooze(3)):
        assert pickle.loads(pickle.dumps(made)) == made


@given(st.integers(0, 2**48 * 1_000_000 - 1))
def test_uuid7_layout(now_ns: int) -> None:
    made = uuid7(now_ns)
    assert made.version == 7
    assert made.variant == RFC_4122
    assert made.int >> 80 == now_ns // 1_000_000
    assert (made.int >> 64) & 0xFFF == (now_ns % 1_000_000) * 4096 // 1_000_000


@given(st.integers(0, 2**60), st.integers(245, 2**60))
def test_uuid7_is_ordered_by_time(now_ns: int, later_by: int) -> None:
    earlier, later = uuid7(now_ns), uuid7(now_ns + later_by)
    assert earlier < later
    assert str(earlier) < str(later)


def test_uuid7_uses_the_clock_and_does_not_repeat() -> None:
    before = time.time_ns() // 1_000_000
    made = [uuid7() for _ in range(10_000)]
    after = time.time_ns() // 1_000_000
    assert len(set(made)) == len(made)
    assert all(before <= one.int >> 80 <= after for one in made)


def raised(exc: BaseException) -> BaseException:
    try:
        raise exc
    except BaseException as caught:
        return caught


def test_an_exception_is_told_by_type_message_and_traceback() -> None:
    error = describe_exception(raised(ValueError("no such customer")))
    assert error["type"] == "ValueError"
    assert error["message"] == "no such customer"
    assert error["traceback"].startswith("Traceback")
    assert error["traceback"].endswith("ValueError: no such customer\n")
    assert describe_exception(InvalidInput("x"))["type"] == "windlass.errors.InvalidInput"


def test_of_a_chain_all_is_told() -> None:
    inner = ValueError("inner")
    outer = RuntimeError("outer")
    outer.__cause__ = inner
    assert "inner" in describe_exception(outer)["traceback"]


@given(any_text, st.integers(MIN_ERROR_BYTES, 4000))
def test_any_exception_can_be_stored(text: str, limit: int) -> None:
    error = describe_exception(raised(RuntimeError(text)), limit)
    assert json.loads(check_json(error, limit, "error")) == error


@pytest.mark.parametrize("character", ["x", "é", "\x01", "\x00", '"', "\U0001f600", "\ud800"])
def test_a_huge_message_is_cut_to_the_limit(character: str) -> None:
    error = describe_exception(raised(RuntimeError(character * 1_000_000)), 2048)
    assert len(check_json(error, 2048, "error")) > 500
    assert error["type"] == "RuntimeError"


def test_of_a_long_traceback_the_end_is_kept() -> None:
    def deeper(left: int) -> None:
        if left == 0:
            raise ValueError("at the bottom")
        other(left)

    def other(left: int) -> None:
        deeper(left - 1)

    with pytest.raises(ValueError, match="bottom") as caught:
        deeper(100)
    error = describe_exception(caught.value, 1000)
    assert error["traceback"].endswith("ValueError: at the bottom\n")
    assert error["traceback"].startswith("…")


def test_an_exception_without_text_is_still_told() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise KeyError("never")

    class Weird(Exception):
        pass

    Weird.__qualname__ = "W\x00" * 1000
    assert "KeyError" in describe_exception(raised(Mute()))["message"]
    check_json(describe_exception(Weird("x"), 256), 256, "error")


@pytest.mark.parametrize(
    ("delay", "bounds"), [(-1.0, "from 0 to 315360000 seconds"), (1e12, "from 0 to 315360000 seconds")]
)
def test_bounds_are_written_as_people_write_numbers(delay: float, bounds: str) -> None:
    with pytest.raises(InvalidInput, match=bounds):
        NewJob(kind="mail", payload={}, delay=delay)


def test_counts_and_words_agree() -> None:
    assert [plural(count, "part") for count in (0, 1, 2, 2000)] == [
        "0 parts",
        "1 part",
        "2 parts",
        "2,000 parts",
    ]
    assert (with_article("object"), with_article("Int"), with_article("set")) == (
        "an object",
        "an Int",
        "a set",
    )


def test_many_ids_of_one_moment_are_distinct_and_in_order() -> None:
    now_ns = 1_700_000_000_123_456_789
    made = uuid7_many(2_000, now_ns)
    assert made == sorted(set(made))
    assert {(one.version, one.variant, one.int >> 64) for one in made} == {
        (7, RFC_4122, uuid7(now_ns).int >> 64)
    }
    assert uuid7_many(0) == []
    assert uuid7_many(1)[0] < uuid7(time.time_ns() + 1_000_000)
