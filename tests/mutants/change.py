"""One generated change of one source file, and how it is called."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Change", "changes_of", "mask_sql"]

_BODY = re.compile(r"\bas \$\$\n(.*?)\n\$\$;", re.DOTALL)
_HIDDEN = re.compile(r"--[^\n]*|'(?:[^']|'')*'")


@dataclass(frozen=True)
class Change:
    """`text[start:end]` becomes `new`; the name says where without line numbers, which move."""

    file: str
    operator: str
    start: int
    end: int
    new: str
    line: str
    nth: int = 1
    """Of those with the same file, operator and line."""

    @property
    def name(self) -> str:
        again = f" #{self.nth}" if self.nth > 1 else ""
        return f"{self.file} | {self.operator}{again} | {self.line}"

    def apply(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]


def mask_sql(text: str) -> tuple[str, int, int]:
    """The text with comments and literals blanked, all else in its place; where the body begins and ends."""
    masked = _HIDDEN.sub(lambda found: re.sub(r"[^\n]", "~", found[0]), text)
    body = _BODY.search(masked)
    return (masked, body.start(1), body.end(1)) if body else (masked, 0, 0)


def changes_of(file: str, text: str, found: Iterable[tuple[str, int, int, str]]) -> list[Change]:
    """Changes in the order of the text, each with its name."""
    seen: Counter[tuple[str, str]] = Counter()
    changes = []
    for operator, start, end, new in sorted(found, key=lambda change: (change[1], change[0])):
        before, after = text[:start].rpartition("\n")[2], text[start:].partition("\n")[0]
        line = f"{before}{after}".strip()
        seen[operator, line] += 1
        changes.append(Change(file, operator, start, end, new, line, seen[operator, line]))
    return changes
