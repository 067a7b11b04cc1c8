"""What a check found: a line of the doctor's report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Finding", "Level", "fail", "in_words", "ok", "warn"]

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    check: str
    level: Level
    sentence: str
    advice: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def ok(check: str, sentence: str, **details: Any) -> Finding:
    return Finding(check=check, level="ok", sentence=sentence, details=details)


def warn(check: str, sentence: str, advice: str, **details: Any) -> Finding:
    """Something that will hurt some day, or could not be looked at."""
    return Finding(check=check, level="warn", sentence=sentence, advice=advice, details=details)


def fail(check: str, sentence: str, advice: str | None, **details: Any) -> Finding:
    """Something that does not work, or is not safe; without advice where the sentence says what to do."""
    return Finding(check=check, level="fail", sentence=sentence, advice=advice, details=details)


def in_words(error: BaseException) -> str:
    """What an error says, as the end of a sentence on one line."""
    text = " ".join(str(error).split())
    return text if text.endswith((".", "?", "!")) else f"{text}."
