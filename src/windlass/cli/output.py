"""How a command shows what it found: JSON, a Rich table on a terminal, aligned text anywhere else."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from windlass.cli.text import clean, plain

__all__ = [
    "Column",
    "make_table",
    "note",
    "on_terminal",
    "print_fields",
    "print_json",
    "print_lines",
    "print_table",
    "say",
]

T = TypeVar("T")

MAX_CELL = 160


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column of a table: its title and how a cell is read from an item."""

    title: str
    read: Callable[[T], object]
    right: bool = False
    style: Callable[[T], str] | None = None
    """How Rich paints the cell, where there are colors."""


def on_terminal() -> bool:
    return sys.stdout.isatty()


def say(text: str = "") -> None:
    """A line of the answer."""
    print(clean(text, lines=True))


def note(text: str) -> None:
    """A remark beside the answer: a script that reads standard output never meets it."""
    print(clean(text, lines=True), file=sys.stderr, flush=True)


def print_json(document: Any) -> None:
    """The answer as one JSON document, spread over lines on a terminal."""
    print(json.dumps(plain(document), indent=2 if on_terminal() else None))


def print_lines(items: Iterable[Any]) -> int:
    """The answer as one JSON document per line; how many there were."""
    count = 0
    for item in items:
        print(json.dumps(plain(item)), flush=True)
        count += 1
    return count


def print_table(columns: Sequence[Column[T]], items: Sequence[T], *, empty: str) -> None:
    """One line per item; the remark `empty` if there is none."""
    if not items:
        note(empty)
        return
    if on_terminal():
        from rich.console import Console

        Console().print(make_table(columns, items))
    else:
        _print_plain(columns, _cells(columns, items))


def _cells(columns: Sequence[Column[T]], items: Sequence[T]) -> list[list[str]]:
    return [[_cell(column.read(item)) for column in columns] for item in items]


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    text = clean(str(value))
    return text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1]}…"


def _print_plain(columns: Sequence[Column[Any]], cells: list[list[str]]) -> None:
    rows = [[column.title for column in columns], *cells]
    widths = [max(len(row[place]) for row in rows) for place in range(len(columns))]
    for row in rows:
        padded = (
            text.rjust(width) if column.right else text.ljust(width)
            for column, text, width in zip(columns, row, widths, strict=True)
        )
        print("  ".join(padded).rstrip())


def make_table(columns: Sequence[Column[T]], items: Sequence[T]) -> Any:
    """One line per item, as Rich draws it."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for column in columns:
        # An id must stay in one piece, to be copied.
        table.add_column(
            column.title, justify="right" if column.right else "left", no_wrap=column.title == "ID"
        )
    for item, row in zip(items, _cells(columns, items), strict=True):
        table.add_row(
            *(
                Text(text, style=column.style(item) if column.style else "")
                for column, text in zip(columns, row, strict=True)
            )
        )
    return table


def print_fields(fields: Iterable[tuple[str, object]]) -> None:
    """Name and value, one pair a line; what is None is left out."""
    shown = [(name, clean(str(value), lines=True)) for name, value in fields if value is not None]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        first, *rest = value.split("\n")
        print(f"{name.ljust(width)}  {first}")
        for line in rest:
            print(f"{' ' * width}  {line}")
