"""Which columns a call asks for, and the value that a row of them becomes.

On a connection of somebody else a driver may read a column in its own way.  So JSON is asked for as
text, which every driver leaves alone, and an id is made a UUID whatever it arrives as.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar
from uuid import UUID

from windlass.db.call import Row
from windlass.model.document import MAX_DEPTH

__all__ = ["Columns", "read_json", "read_uuid"]

T = TypeVar("T")


def read_uuid(value: Any) -> UUID:
    return value if type(value) is UUID else UUID(str(value))


def read_json(value: Any) -> Any:
    """A JSON value; where Python cannot hold it (whoever wrote it did not ask Python), its text instead.

    A number of thousands of digits, or nesting without end, must not hide the jobs listed beside it.
    """
    if value is None:
        return None
    try:
        found = _DECODER.decode(value)
    except (ValueError, RecursionError):
        return value
    few = value.count("[") + value.count("{") <= MAX_DEPTH
    return found if few or not _nested_deeper(found, MAX_DEPTH) else value


def _nested_deeper(value: Any, levels: int) -> bool:
    """What is read must also be written, shown and compared by code that calls itself for each level."""
    layer: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        inside = [part.values() if isinstance(part, dict) else part for part in layer]
        layer = [inner for parts in inside for inner in parts if isinstance(inner, dict | list)]
        if not layer:
            return False
    return True


def _read_float(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


_DECODER = json.JSONDecoder(parse_float=_read_float)


class Columns(Generic[T]):
    """The columns of one kind of row, named apart by how they are read."""

    __slots__ = ("_make", "_names", "_readers", "_text")

    def __init__(
        self,
        make: Callable[[Mapping[str, Any]], T],
        *,
        ids: str = "",
        json: str = "",
        plain: str = "",
        computed: Mapping[str, str] | None = None,
    ) -> None:
        expressions = {name: name for name in f"{ids} {plain}".split()}
        expressions |= {name: f"{name}::text" for name in json.split()}
        expressions |= computed or {}
        self._make = make
        self._names = tuple(expressions)
        self._readers: Mapping[str, Callable[[Any], Any]] = {
            **dict.fromkeys(ids.split(), _optional_uuid),
            **dict.fromkeys(json.split(), read_json),
        }
        self._text = ", ".join(expressions.values())

    def select(self, source: str, *, also: str = "") -> str:
        """The statement that asks `source` for our columns, and for `also` behind them."""
        return f"select {self._text}{also and ', '}{also} from {source}"  # noqa: S608 - names of our own

    def read(self, row: Row) -> T:
        """The value of a row; columns behind ours are for somebody else."""
        values = dict(zip(self._names, row, strict=False))
        for name, reader in self._readers.items():
            values[name] = reader(values[name])
        return self._make(values)

    def read_all(self, rows: Sequence[Row]) -> list[T]:
        return [self.read(row) for row in rows]

    def read_one(self, rows: Sequence[Row]) -> T:
        return self.read(rows[0])


def _optional_uuid(value: Any) -> UUID | None:
    return None if value is None else read_uuid(value)
