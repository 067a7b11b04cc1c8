"""A payload that would come back as something else is refused when it is enqueued, not when it runs."""

import math
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr, computed_field, field_serializer

from windlass.errors import InvalidInput
from windlass.worker.payload import PayloadShape


class Login(BaseModel):
    user: str
    password: SecretStr


class Shown(BaseModel):
    password: SecretStr

    @field_serializer("password")
    def show(self, value: SecretStr) -> str:
        return value.get_secret_value()


class TwoNames(BaseModel):
    size: int = Field(validation_alias="read_as", serialization_alias="written_as")


class Hidden(BaseModel):
    left_out: int = Field(exclude=True)


class Doubled(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: int

    @computed_field
    def double(self) -> int:
        return 2 * self.number


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    wait: timedelta
    price: Decimal


class Cat(BaseModel):
    says: Literal["miaow"] = "miaow"


class Kitten(Cat):
    weeks: int


class Array(BaseModel):
    """As arrays are: what compares them gets no yes or no."""

    cells: list[SecretStr | int]

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


def take(shape: Any) -> PayloadShape:
    def handler(value: Any) -> None: ...

    handler.__annotations__["value"] = shape
    return PayloadShape(handler, "take")


REFUSED: dict[str, tuple[Any, Callable[[], Any], str]] = {
    "a secret in a model": (Login, lambda: Login(user="ada", password=SecretStr("x")), "holds a secret"),
    "a secret": (SecretStr, lambda: SecretStr("x"), "holds a secret"),
    "secrets in a list": (list[SecretStr], lambda: [SecretStr("x")], "holds a secret"),
    "a secret in what cannot be compared": (
        Array,
        lambda: Array(cells=[SecretStr("x")]),
        "holds a secret",
    ),
    "another name": (TwoNames, lambda: TwoNames(read_as=1), "cannot be read back"),
    "a field left out": (Hidden, lambda: Hidden(left_out=1), "cannot be read back"),
    "a field too many": (Doubled, lambda: Doubled(number=1), "cannot be read back"),
    "no number": (Any, lambda: math.nan, "holds a number that is not finite"),
    "infinity, deep": (Any, lambda: {"a": [1, -math.inf]}, "holds a number that is not finite"),
    "bytes": (bytes, lambda: b"\xff", "bytes that are no UTF-8 text"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_json_would_not_keep_is_refused(what: str) -> None:
    shape, make, why = REFUSED[what]
    with pytest.raises(InvalidInput, match=why) as refused:
        take(shape).encode(make())
    assert "ada" not in str(refused.value), "no value is quoted"


@pytest.mark.parametrize(
    ("shape", "value", "plain"),
    [
        (Shown, Shown(password=SecretStr("x")), {"password": "x"}),
        (Strict, Strict(wait=timedelta(1), price=Decimal("1.50")), {"wait": "P1D", "price": "1.50"}),
        (set[int], {1}, {"value": [1]}),
        (Array, Array(cells=[1]), {"cells": [1]}),
        (bytes, b"text", {"value": "text"}),
        (Annotated[float, Field(gt=0)], 0.1, {"value": 0.1}),
        (list[Cat], [Kitten(weeks=3)], {"value": [{"says": "miaow"}]}),
    ],
)
def test_what_it_keeps_is_not(shape: Any, value: Any, plain: Any) -> None:
    assert take(shape).encode(value) == plain
