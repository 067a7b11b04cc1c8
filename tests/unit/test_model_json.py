"""JSON: what is accepted reads back the same, everything else is refused with its place."""

import json
import math
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.errors import InvalidInput
from windlass.model import check_json, json_array
from windlass.model.document import MAX_DEPTH

LIMIT = 1024 * 1024
storable_text = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
storable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | storable_text,
    lambda inner: st.lists(inner) | st.dictionaries(storable_text, inner),
    max_leaves=20,
)
any_text = st.text(st.characters(codec=None) | st.sampled_from("\x00\ud800\udfff\\u0"))
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text | st.binary(max_size=3),
    lambda inner: st.lists(inner) | st.dictionaries(any_text | st.integers() | st.none(), inner),
    max_leaves=10,
)


def has_fault(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(
            not isinstance(key, str) or has_fault(key) or has_fault(part) for key, part in value.items()
        )
    if isinstance(value, list):
        return any(has_fault(part) for part in value)
    return isinstance(value, bytes)


@given(storable)
def test_what_is_storable_reads_back_the_same(value: Any) -> None:
    text = check_json(value, LIMIT, "payload")
    assert json.loads(text) == value
    assert "\n" not in text


@given(anything)
def test_refused_exactly_when_there_is_a_fault(value: Any) -> None:
    if has_fault(value):
        with pytest.raises(InvalidInput, match=r"^payload") as caught:
            check_json(value, LIMIT, "payload")
        str(caught.value).encode()  # the refusal itself can be stored and sent
    else:
        assert json.loads(check_json(value, LIMIT, "payload")) == value


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"a": ["x", "y\x00"]}, "payload.a[1] contains a NUL character"),
        ({"a": "\ud83d"}, "payload.a contains the lone surrogate U+D83D"),
        ({"a\x00": 1}, "payload has a key that contains a NUL character"),
        ({"a": {"\udc80": 1}}, "payload.a has a key that contains the lone surrogate U+DC80"),
        ({"a": {1: "x"}}, "payload.a has the key 1, which is not text"),
        ([{None: "x"}], "payload[0] has the key None, which is not text"),
        (math.nan, "payload is nan, which JSON cannot hold"),
        ({"a": [-math.inf]}, "payload.a[0] is -inf, which JSON cannot hold"),
        ({"at": datetime(2030, 1, 1, tzinfo=UTC)}, "payload.at is a datetime, which JSON cannot hold"),
        ({"a": {1, 2}}, "payload.a is a set, which JSON cannot hold"),
        (b"x", "payload is a bytes, which JSON cannot hold"),
    ],
    ids=repr,
)
def test_the_sentence_names_the_place(value: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_json(value, LIMIT, "payload")
    assert str(caught.value) == sentence


def test_an_escaped_backslash_before_u0000_is_innocent() -> None:
    value = {"pattern": "\\u0000", "\\u0000": 1}
    assert json.loads(check_json(value, LIMIT, "payload")) == value


def test_size_is_counted_in_bytes_and_told() -> None:
    assert check_json("é" * 10, 22, "result") == '"éééééééééé"'
    with pytest.raises(InvalidInput, match="the result is 22 bytes of JSON; the limit is 21 bytes") as caught:
        check_json("é" * 10, 21, "result")
    assert caught.value.details == {"size": 22, "limit": 21}


def nested(depth: int, shape: str) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if shape == "list" else {"k": value}
    return value


@pytest.mark.parametrize("shape", ["list", "dict"])
def test_depth(shape: str) -> None:
    assert check_json(nested(MAX_DEPTH, shape), LIMIT, "payload")
    for depth in (MAX_DEPTH + 1, 2000, 100_000):
        with pytest.raises(InvalidInput, match=f"nested deeper than {MAX_DEPTH} levels"):
            check_json(nested(depth, shape), LIMIT, "payload")


def test_a_circle_is_refused() -> None:
    circle: list[Any] = [1]
    circle.append({"again": circle})
    with pytest.raises(InvalidInput, match="nested deeper"):
        check_json(circle, LIMIT, "payload")


def test_a_number_too_long_to_write_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cannot be written as JSON"):
        check_json(10**10_000, LIMIT, "payload")


def test_a_long_path_is_cut() -> None:
    with pytest.raises(InvalidInput) as caught:
        check_json({"k" * 10_000: {"x": b""}}, LIMIT, "payload")
    assert len(str(caught.value)) < 300


def test_tuples_and_enums_are_written_as_what_they_hold() -> None:
    class Color(StrEnum):
        RED = "red"

    class Size(IntEnum):
        BIG = 3

    assert check_json({"a": (1, (2,)), Color.RED: [Color.RED, Size.BIG]}, LIMIT, "x") == (
        '{"a":[1,[2]],"red":["red",3]}'
    )


@given(st.lists(anything, max_size=5))
def test_values_go_together_exactly_when_each_could_go_alone(values: list[Any]) -> None:
    text = json_array(values, LIMIT)
    if any(map(has_fault, values)):
        assert text is None
    elif text is None:
        assert "\\u0000" in json.dumps(values), "what looks like a fault is left to be looked at"
    else:
        assert text == f"[{','.join([check_json(value, LIMIT, 'payload') for value in values])}]"


def test_values_that_are_large_or_deep_are_looked_at_one_by_one() -> None:
    deep: Any = []
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    assert json_array([deep], LIMIT) == f"[{check_json(deep, LIMIT, 'payload')}]"
    assert json_array([[deep]], LIMIT) is None
    assert json_array(["é" * 10], 24) == '["' + "é" * 10 + '"]'
    assert json_array(["é" * 10], 23) is None
    assert json_array([object()], LIMIT) is None
