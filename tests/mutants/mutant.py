"""A mutant: one guard taken out of the source, and the tests that must notice."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


class DoesNotApply(Exception):
    """The text that a mutant changes is not there, or is there more than once."""


@dataclass(frozen=True)
class Mutant:
    """`old` stands exactly once in `file`, which is a path below src/windlass."""

    name: str
    guard: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def apply(self, text: str) -> str:
        """The text without the guard."""
        found = text.count(self.old)
        if found != 1:
            raise DoesNotApply(f"{self.name}: {self.file} has the text {found} times, not once: {self.old!r}")
        return text.replace(self.old, self.new)

    def path(self, root: Path = ROOT) -> Path:
        return root / "src" / "windlass" / self.file


def chosen(mutants: Sequence[Mutant], names: Sequence[str]) -> list[Mutant]:
    """Those named, or all; an unknown name is an error."""
    known = {mutant.name: mutant for mutant in mutants}
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"mutants: there is no {', '.join(unknown)}; --list names them all")
    return [known[name] for name in names] or list(mutants)
