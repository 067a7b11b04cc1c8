"""Which columns of a table a terminal has room for, and how wide they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

__all__ = ["Column", "Fitted", "fit"]

T = TypeVar("T")

GAP, NARROW_GAP = 3, 2
EDGES = 2
_IDS = ("ID", "JOB")


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column of a table: its title and how a cell is read from an item."""

    title: str
    read: Callable[[T], object]
    right: bool = False
    style: Callable[[T], str] | None = None
    """How Rich paints the cell, where there are colors."""
    brief: Callable[[T], object] | None = None
    """How the cell is read where there is little room."""
    wraps: int = 0
    """The text may go over several lines of so many characters; 0: it stays on one."""
    spare: int = 0
    """Where there is still too little room, columns are left out, the highest number first; 0: never."""


@dataclass(frozen=True, slots=True)
class Fitted(Generic[T]):
    """What is shown of a table."""

    columns: list[Column[T]]
    rows: list[list[str]]
    left_out: list[str]
    narrow: bool
    fits: bool

    def folds(self, column: Column[T]) -> bool:
        """An id must stay in one piece, to be copied; of the rest, names only break if nothing else helps."""
        return column.title not in _IDS and (column.wraps > 0 or not self.fits)


def fit(
    columns: Sequence[Column[T]], items: Sequence[T], width: int, cell: Callable[[object], str]
) -> Fitted[T]:
    """As much as there is room for: first shorter, then without what says nothing, then what says least."""
    from rich.cells import cell_len

    def read(column: Column[T], brief: bool) -> list[str]:
        reader = column.brief if brief and column.brief is not None else column.read
        return [cell(reader(item)) for item in items]

    def least(column: Column[T], cells: list[str]) -> int:
        wide = max(map(cell_len, (column.title, *cells)))
        return min(wide, max(column.wraps, cell_len(column.title))) if column.wraps and narrow else wide

    def fits() -> bool:
        gaps = NARROW_GAP * (len(shown) - 1) if narrow else GAP * (len(shown) - 1) + EDGES
        return sum(least(column, cells) for column, cells in shown) + gaps <= width

    narrow = False
    shown = [(column, read(column, False)) for column in columns]
    left_out: list[str] = []
    if not fits():
        narrow = True
        shown = [(column, read(column, True)) for column in columns]
        for column, cells in sorted(shown, key=lambda pair: _order(*pair)):
            if fits() or not (column.spare or _empty(cells)):
                continue
            shown = [pair for pair in shown if pair[0] is not column]
            if not _empty(cells):
                left_out.append(f"{column.title} ({cells[0]})" if _one_value(cells) else column.title)
    rows: list[list[Any]] = [list(row) for row in zip(*(cells for _, cells in shown), strict=True)]
    return Fitted([column for column, _ in shown], rows, left_out, narrow, fits())


def _order(column: Column[Any], cells: list[str]) -> tuple[bool, bool, int]:
    return not _empty(cells), not _one_value(cells), -column.spare


def _empty(cells: list[str]) -> bool:
    return set(cells) == {"-"}


def _one_value(cells: list[str]) -> bool:
    """Such a column can be told in a remark, if its value is short."""
    return len(set(cells)) == 1 and len(cells[0]) <= 20
