"""Values as they are printed: JSON for programs, text that is safe on a terminal for people."""

import dataclasses
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

__all__ = ["brief_stamp", "clean", "moment", "plain", "pretty", "span", "stamp"]

# What a payload, an error or a name brings along must not move the cursor or rename the window.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_CONTROL_IN_LINE = re.compile(_CONTROL.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))


def plain(value: Any) -> Any:
    """`value` made of what JSON knows: times as ISO 8601 in UTC, values of ours as objects."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, UUID | Path):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    return str(value)


def moment(value: datetime) -> str:
    """A time for programs: ISO 8601 in UTC, always with microseconds, so that texts sort like times."""
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def stamp(value: datetime) -> str:
    """A time for people: the same, to the millisecond.  Every option that takes a time can read it."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def brief_stamp(value: datetime) -> str:
    """The same where there is little room: in UTC too, without the year, to the second."""
    return f"{value.astimezone(UTC):%m-%d %H:%M:%S}"


def pretty(value: Any) -> str:
    """JSON for people to read."""
    return clean(json.dumps(plain(value), ensure_ascii=False, indent=2), lines=True)


def clean(text: str, *, lines: bool = False) -> str:
    """`text` with control characters spelled out; `lines` leaves line breaks and tabs."""
    return (_CONTROL_IN_LINE if lines else _CONTROL).sub(_spell, text)


def _spell(found: re.Match[str]) -> str:
    code = ord(found.group())
    names = {9: "\\t", 10: "\\n", 13: "\\r"}
    return names.get(code) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def span(seconds: float) -> str:
    """A length of time in at most two units: `850ms`, `12s`, `3m 20s`, `5h 7m`, `2d 4h`."""
    if seconds < 0:
        return "-" + span(-seconds)
    if seconds < 1:
        return f"{round(seconds * 1000)}ms"
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    for size, name, below, below_name in ((86_400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size}{name}" + (f" {rest}{below_name}" if rest else "")
    return f"{whole}s"
