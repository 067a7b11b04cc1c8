"""Figures: each has a goal, what was seen, and whether the one meets the other."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Figure", "Setting", "as_table", "measure", "write_table"]


@dataclass(frozen=True)
class Setting:
    """What a measurement is given: a directory for its files, and how much of the full count to do."""

    directory: Path
    scale: float = 1.0
    major: int | None = None
    say: Callable[[str], Any] = lambda _: None

    def count(self, full: int, least: int = 1) -> int:
        return max(least, round(full * self.scale))


@dataclass(frozen=True)
class Figure:
    name: str
    goal: str
    seen: str
    met: bool
    details: dict[str, Any] = field(default_factory=dict)


def measure(
    names: Sequence[str],
    directory: Path,
    *,
    scale: float = 1.0,
    major: int | None = None,
    say: Callable[[str], Any] = lambda _: None,
) -> list[Figure]:
    """Take these measurements, one after the other."""
    from tests.chaos.figures import FIGURES

    seen: list[Figure] = []
    for name in names:
        since = time.monotonic()
        say(f"{name} ...\n")
        found = FIGURES[name](Setting(directory / name, scale, major, say))
        seen += found
        for figure in found:
            say(f"  {figure.name}: {figure.seen} (goal: {figure.goal})\n")
        say(f"  {time.monotonic() - since:.0f} s\n")
    return seen


def as_table(figures: Sequence[Figure]) -> str:
    lines = ["", f"{'figure':<52}{'goal':<28}{'seen':<40}"]
    for figure in figures:
        mark = "" if figure.met else "  NOT MET"
        lines.append(f"{figure.name:<52}{figure.goal:<28}{figure.seen}{mark}")
    return "\n".join(lines) + "\n"


def write_table(figures: Sequence[Figure], directory: Path) -> None:
    (directory / "figures.txt").write_text(as_table(figures))
    (directory / "figures.json").write_text(
        json.dumps([asdict(one) for one in figures], indent=1, default=str)
    )
