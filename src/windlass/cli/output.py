"""How a command shows what it found: JSON, a Rich table on a terminal, aligned text anywhere else."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from windlass.cli.narrow import Column, fit
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

        console = Console()
        table, left_out = make_table(columns, items, console.width)
        console.print(table)
        if left_out:
            note(f"Left out, for want of room: {', '.join(left_out)}")
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


def make_table(columns: Sequence[Column[T]], items: Sequence[T], width: int) -> tuple[Any, list[str]]:
    """One line per item, as Rich draws it in so many characters, and which columns had no room."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = fit(columns, items, width, _cell)
    table = Table(
        box=box.SIMPLE_HEAD,
        header_style="bold",
        pad_edge=False,
        show_edge=not shown.narrow,
        padding=(0, 1, 0, 0) if shown.narrow else (0, 1),
    )
    for column in shown.columns:
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=not shown.folds(column),
            overflow="fold",
        )
    for item, row in zip(items, shown.rows, strict=True):
        table.add_row(
            *(
                Text(text, style=column.style(item) if column.style else "")
                for column, text in zip(shown.columns, row, strict=True)
            )
        )
    return table, shown.left_out


def print_fields(fields: Iterable[tuple[str, object]]) -> None:
    """Name and value, one pair a line; what is None is left out."""
    shown = [(name, clean(str(value), lines=True)) for name, value in fields if value is not None]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        first, *rest = value.split("\n")
        print(f"{name.ljust(width)}  {first}")
        for line in rest:
            print(f"{' ' * width}  {line}")
