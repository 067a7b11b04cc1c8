"""One call of a SQL function, as a value that any connection can carry out.

A call says what to send and how to read what comes back; it does not know how it is sent.  The same
value therefore runs on our own connections, synchronous or not, and on a caller's open transaction.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

__all__ = ["Call", "Row"]

T = TypeVar("T")
Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """`text` numbers its values `$1`, `$2`, … in order, each used once.

    `hot` is for what a process says again and again: our own connections prepare it at once (see `hot`).
    With `raw` they then hand ids, JSON and times to `read` as they came (see `wire`).  `written` are its
    values as they are sent, where somebody had time to write them before (see `hot.ready`).
    """

    text: str
    values: tuple[Any, ...]
    read: Callable[[Sequence[Row]], T]
    hot: bool = False
    raw: bool = False
    written: tuple[Any, Any] | None = None
