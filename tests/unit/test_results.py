"""What a handler returns comes back as its annotation has it, or as plain JSON, and loses nothing unsaid."""

import contextlib
import dataclasses
import gc
import json
import logging
import math
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from types import FrameType
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    SecretStr,
    computed_field,
    field_serializer,
    field_validator,
)
from pydantic_core import core_schema

from windlass.errors import InvalidInput
from windlass.model import Cancel
from windlass.worker.registry import JobDefinition


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")
    net: int

    @computed_field
    def gross(self) -> int:
        return self.net * 2


class Orders(BaseModel):
    model_config = ConfigDict(extra="forbid")
    by_name: dict[str, list[Order]]


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date
    wait: timedelta
    id: UUID


class Total(BaseModel):
    total: int = Field(serialization_alias="Total")


class Cat(BaseModel):
    model_config = ConfigDict(extra="forbid")
    says: Literal["miaow"] = "miaow"


class Kitten(Cat):
    weeks: int


class Login(BaseModel):
    user: str
    password: SecretStr


class Shown(BaseModel):
    password: SecretStr

    @field_serializer("password", when_used="json")
    def show(self, value: SecretStr) -> str:
        return value.get_secret_value()


class Sealed(BaseModel):
    """Written in a form that only others read."""

    key: SecretStr

    @field_serializer("key", when_used="json")
    def seal(self, value: SecretStr) -> str:
        return "c2VhbGVk"


class Stream(BaseModel):
    numbers: Iterable[int]


class Weight:
    """Known to pydantic by its annotation only."""

    def __init__(self, grams: int) -> None:
        self.grams = grams

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.is_instance_schema(cls)


class Angry(BaseModel):
    says: str

    @field_validator("says")
    @classmethod
    def refuse(cls, says: str) -> str:
        if says == "again":
            raise LookupError("not now")
        return "again"


@dataclasses.dataclass
class Point:
    x: float
    days: tuple[date, ...] = ()


@dataclasses.dataclass(frozen=True)
class Key:
    secret: SecretStr


def returning(annotation: Any) -> JobDefinition:
    def give() -> None: ...

    give.__annotations__["return"] = annotation
    return JobDefinition.from_function(give)


def written(definition: JobDefinition, value: Any) -> Any:
    return json.loads(definition.results.encode(value) or "null")


DAY = date(2030, 1, 31)
STRICT = Strict(day=DAY, wait=timedelta(1), id=UUID(int=7))
ORDER = {"net": 1, "gross": 2}

KEPT: dict[str, tuple[Any, Any, Any]] = {
    "computed, and nothing more allowed": (Order, Order(net=1), ORDER),
    "or nothing": (Order | None, Order(net=1), ORDER),
    "or a decision": (Order | Cancel, Order(net=1), ORDER),
    "in a list": (list[Order], [Order(net=1), Order(net=1)], [ORDER, ORDER]),
    "deep": (Orders, Orders(by_name={"a": [Order(net=1)]}), {"by_name": {"a": [ORDER]}}),
    "strict": (Strict, STRICT, {"day": "2030-01-31", "wait": "P1D", "id": str(UUID(int=7))}),
    "a date or text": (date | str, DAY, "2030-01-31"),
    "a dataclass": (Point, Point(0.5, (DAY,)), {"x": 0.5, "days": ["2030-01-31"]}),
    "by a serializer of the annotation": (
        Annotated[Decimal, PlainSerializer(float)],
        Decimal("0.5"),
        0.5,
    ),
    "a secret that is shown": (Shown, Shown(password=SecretStr("x")), {"password": "x"}),
    "an empty secret": (SecretStr, SecretStr(""), ""),
    "a set": (set[int], {1}, [1]),
    "bytes": (bytes, b"text", "text"),
}


@pytest.mark.parametrize("what", KEPT)
def test_it_is_read_as_declared(what: str) -> None:
    annotation, value, plain = KEPT[what]
    definition = returning(annotation)
    assert written(definition, value) == plain
    assert definition.decode_result(plain) == value


NOT_READ: dict[str, tuple[Any, Any, Any]] = {
    "another name": (Total, Total(total=3), {"Total": 3}),
    "other than declared": (Strict, Point(0.5), {"x": 0.5, "days": []}),
    "a validator that raises": (Total, Angry(says="x"), {"says": "again"}),
}


@pytest.mark.parametrize("what", NOT_READ)
def test_what_cannot_be_read_as_declared_is_plain_json(what: str, caplog: pytest.LogCaptureFixture) -> None:
    annotation, value, plain = NOT_READ[what]
    definition = returning(annotation)
    assert written(definition, value) == plain
    with caplog.at_level(logging.WARNING, "windlass.result"):
        assert definition.decode_result(plain) == plain
    assert "a result of give is not as declared, and is given as plain JSON: " in caplog.text


def test_what_somebodys_validators_raise_does_not_fail_the_job() -> None:
    assert written(returning(Angry), Angry(says="x")) == {"says": "again"}


def test_nothing_is_left_out_where_the_annotation_names_less() -> None:
    kitten = {"says": "miaow", "weeks": 3}
    assert written(returning(Cat), Kitten(weeks=3)) == kitten
    assert written(returning(list[Cat]), [Kitten(weeks=3)]) == [kitten]
    assert written(returning(BaseModel), Kitten(weeks=3)) == kitten
    assert returning(Cat).decode_result(kitten) == Cat()


LOST: dict[str, tuple[Any, Any, str]] = {
    "a secret in a model": (Login, Login(user="ada", password=SecretStr("hunter2")), "a secret"),
    "not declared": (Any, Login(user="ada", password=SecretStr("hunter2")), "a secret"),
    "otherwise declared": (Point, Login(user="ada", password=SecretStr("hunter2")), "a secret"),
    "a secret": (SecretStr, SecretStr("hunter2"), "a secret"),
    "secrets in a list": (list[SecretStr], [SecretStr("hunter2")], "a secret"),
    "in a set of dataclasses": (set[Key], {Key(SecretStr("hunter2"))}, "a secret"),
    "no number": (Point, Point(math.nan), "a number that is not finite"),
}


@pytest.mark.parametrize("what", LOST)
def test_what_json_would_not_keep_is_refused(what: str) -> None:
    annotation, value, lost = LOST[what]
    with pytest.raises(
        InvalidInput, match=f"the result holds {lost}.*, which JSON would not keep"
    ) as refused:
        returning(annotation).results.encode(value)
    assert refused.value.__context__ is None, "the history of an attempt tells one story"
    assert "hunter2" not in str(refused.value)
    assert "ada" not in str(refused.value)


@pytest.mark.parametrize("what", [*KEPT, *NOT_READ, *LOST, "not at all"])
def test_no_frame_that_has_it_waits_for_the_collector(what: str) -> None:
    annotation, value, _ = {**KEPT, **NOT_READ, **LOST, "not at all": (Any, Weight(5), None)}[what]
    definition = returning(annotation)
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        with contextlib.suppress(InvalidInput):
            definition.results.encode(value)
        gc.collect()
        left = [thing.f_code.co_qualname for thing in gc.garbage if isinstance(thing, FrameType)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert not left


def test_what_can_be_iterated_over_once_is_written_whole() -> None:
    for annotation in (Any, Iterable[int], list[int]):
        assert written(returning(annotation), (n for n in range(3))) == [0, 1, 2]
    assert written(returning(Stream), Stream(numbers=iter(range(3)))) == {"numbers": [0, 1, 2]}


def test_a_type_that_only_its_annotation_can_write() -> None:
    definition = returning(Annotated[Weight, PlainSerializer(lambda weight: f"{weight.grams} g")])
    assert written(definition, Weight(5)) == "5 g"
    with pytest.raises(InvalidInput, match="is a Weight, which JSON cannot hold"):
        written(returning(Any), Weight(5))


def test_a_secret_that_its_model_shows_or_hides_itself_is_not_lost() -> None:
    assert written(returning(Any), Shown(password=SecretStr("x"))) == {"password": "x"}
    assert written(returning(Any), Sealed(key=SecretStr("x"))) == {"key": "c2VhbGVk"}
    assert written(returning(Sealed), Sealed(key=SecretStr("x"))) == {"key": "c2VhbGVk"}


def test_plain_json_is_written_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most results are: neither the annotation nor the loss is looked at."""
    monkeypatch.setattr("windlass.worker.result.ResultShape._write", None)
    for annotation, value in ((dict[str, Any], {"a": [1, None, "x"]}), (str, "x"), (Order, {"net": 1})):
        assert written(returning(annotation), value) == value
    assert returning(Order).results.encode(None) is None
