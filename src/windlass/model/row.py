"""How a row of the database becomes a frozen value, and a page of such values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FromRow:
    """Build a dataclass from a row by name.

    A column that the value has no field for is ignored, so that a newer schema may add some;
    a required field without a column is an error.
    """

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        return cls(**{name: row[name] for name in cls.__dataclass_fields__ if name in row})


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a listing; `next_cursor` is None on the last one."""

    items: tuple[T, ...]
    next_cursor: str | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
