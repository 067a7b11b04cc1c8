"""Tables as they stand in the document."""

from collections.abc import Sequence

__all__ = ["one_line", "table"]


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def one_line(text: str | None) -> str:
    """Short, and harmless between the bars of a table."""
    return " ".join((text or "").split())[:300].replace("|", "\\|")
