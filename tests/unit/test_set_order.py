"""A set in a payload is written in one order, whatever the process: the same payload is the same JSON."""

import dataclasses
import json
import os
import subprocess
import sys
from collections import deque
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, computed_field
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypedDict

from windlass.worker import payload
from windlass.worker.payload import PayloadShape

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
PAIRS = frozenset((word, frozenset(WORDS)) for word in WORDS)


class Tag(BaseModel):
    model_config = ConfigDict(frozen=True)
    names: frozenset[str] = Field(serialization_alias="n", validation_alias="n")


class Tags(RootModel[set[str]]): ...


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    left_out: set[str] = Field(default=set(), exclude=True)
    plain: int = 1

    @computed_field
    def twice(self) -> set[str]:
        return {word * 2 for word in WORDS}


@dataclasses.dataclass(frozen=True)
class Named:
    words: Annotated[frozenset[str], Field(alias="w")]


@pydantic_dataclass
class Checked:
    words: set[str]


class Fields(TypedDict):
    words: set[str]


class Pair(NamedTuple):
    words: set[str]
    times: int


VALUES: dict[str, tuple[Any, Any]] = {
    "a set": (set[str], set(WORDS)),
    "a frozenset": (frozenset[str], frozenset(WORDS)),
    "numbers and text": (set[int | str], {1, 10, 2, *WORDS}),
    "in a list": (list[set[str]], [set(WORDS), {"a"}]),
    "in a dict": (dict[int, set[str]], {1: set(WORDS), 2: {"a"}}),
    "sets in tuples in a set": (set[tuple[str, frozenset[str]]], PAIRS),
    "in a model": (Tag, Tag(n=frozenset(WORDS))),
    "in models in a set": (
        set[Tag],
        {Tag(n=frozenset(WORDS)), Tag(n=frozenset("abc")), Tag(n=frozenset())},
    ),
    "the root of a model": (Tags, Tags(set(WORDS))),
    "computed, and more than the fields": (Open, Open.model_validate({"more": set(WORDS)})),
    "in a dataclass": (Named, Named(frozenset(WORDS))),
    "in dataclasses in a set": (set[Named], {Named(frozenset(WORDS)), Named(frozenset("abc"))}),
    "in a dataclass of pydantic's": (Checked, Checked(set(WORDS))),
    "in a typed dict": (Fields, {"words": set(WORDS)}),
    "in a named tuple": (Pair, Pair(set(WORDS), 2)),
    "where anything is declared": (Any, {"deep": [set(WORDS), deque([frozenset(WORDS)])]}),
    "in a model where anything is": (Any, Tag(n=frozenset(WORDS))),
}


def shape_of(annotation: Any) -> PayloadShape:
    def handler(value: Any) -> None: ...

    handler.__annotations__["value"] = annotation
    return PayloadShape(handler, "take")


def written() -> dict[str, Any]:
    return {what: shape_of(annotation).encode(value) for what, (annotation, value) in VALUES.items()}


def test_every_process_writes_the_same() -> None:
    code = "import json; from tests.unit.test_set_order import written; print(json.dumps(written()))"
    found = []
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
        found.append(json.loads(ran.stdout))
    for what in VALUES:
        assert found[0][what] == found[1][what] == found[2][what], what
    assert found[0]["a set"] == {"value": sorted(WORDS)}


def test_the_order_is_that_of_the_json() -> None:
    assert shape_of(set[int | str]).encode({10, 9, "a", "B"}) == {"value": ["B", "a", 10, 9]}
    nested = shape_of(set[frozenset[int]]).encode({frozenset({2, 1}), frozenset({0})})
    assert nested == {"value": [[0], [1, 2]]}


def test_only_sets_are_put_into_order() -> None:
    given = {"list": ["b", "a"], "set": {"b", "a"}}
    assert shape_of(Any).encode(given) == {"value": {"list": ["b", "a"], "set": ["a", "b"]}}


def test_what_can_hold_no_set_is_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(payload, "order_sets", lambda value, plain: seen.append(value))
    for annotation, value in ((dict[str, list[int]], {"a": [1]}), (Any, {"a": [1]}), (str, "x")):
        shape_of(annotation).encode(value)
    assert seen == []
    shape_of(set[int]).encode({1})
    assert seen == [{"value": {1}}]
