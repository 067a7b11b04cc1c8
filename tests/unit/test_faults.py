"""Whatever pydantic finds wrong is told in plain words, and without the value."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from windlass.model.faults import fault_in_words

SECRET = "hunter2"


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Order(BaseModel, extra="forbid"):
    number: int


@dataclass
class Place:
    name: str


def told(annotation: Any, value: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(annotation).validate_python(value)
    return fault_in_words(caught.value.errors()[0])


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (int, SECRET, "must be a whole number"),
        (int, 1.5, "must be a whole number"),
        (int, None, "must be a whole number"),
        (float, SECRET, "must be a number"),
        (Decimal, SECRET, "must be a number"),
        (Annotated[float, Field(allow_inf_nan=False)], "inf", "must be a finite number"),
        (bool, SECRET, "must be true or false"),
        (str, 1, "must be text"),
        (None, 1, "must be null"),
        (UUID, SECRET, "must be a UUID, 32 hexadecimal digits"),
        (datetime, SECRET, "must be a time such as 2030-01-31T09:00:00Z"),
        (date, SECRET, "must be a date such as 2030-01-31"),
        (list[int], SECRET, "must be a list"),
        (dict[str, int], SECRET, "must be an object"),
        (Order, SECRET, "must be an object"),
        (Place, SECRET, "must be an object"),
        (Order, {}, "is missing"),
        (Order, {"number": 1, "other": SECRET}, "is not known"),
        (Literal["a", "b"], SECRET, "must be 'a' or 'b'"),
        (Color, SECRET, "must be 'red' or 'blue'"),
        (Annotated[int, Field(ge=1)], 0, "must be 1 or more"),
        (Annotated[float, Field(gt=0)], 0, "must be greater than 0"),
        (Annotated[int, Field(lt=3)], 3, "must be less than 3"),
        (Annotated[int, Field(le=3)], 4, "must be 3 or less"),
        (Annotated[str, Field(min_length=9)], SECRET, "must have 9 characters or more"),
        (Annotated[str, Field(max_length=1)], SECRET, "must have 1 characters or less"),
        (Annotated[list[int], Field(min_length=1)], [], "must have 1 or more items"),
        (bytes, 1, "should be a valid bytes"),
    ],
)
def test_a_fault_in_words(annotation: Any, value: Any, words: str) -> None:
    assert told(annotation, value) == words
