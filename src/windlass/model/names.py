"""What may be used as a name, and text that the database can store.

PostgreSQL stores neither NUL nor half of a surrogate pair.  Names with either are refused; free
text such as a reason or an error has them escaped, because it must never be lost over one character.
"""

import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import Enum
from typing import Literal, TypeVar
from uuid import UUID

from windlass.errors import InvalidInput

T = TypeVar("T")

MAX_SLUG_LENGTH = 100
MAX_QUEUE_LENGTH = 100
MAX_KIND_LENGTH = 200
MAX_IDEMPOTENCY_KEY_LENGTH = 500
MAX_CONCURRENCY_KEY_LENGTH = 500
MAX_REASON_BYTES = 2_000
CUT_MARK = "…"
"""Where `storable_text` has cut something off."""

_MAX_SHOWN = 100
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]*")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def with_article(word: str) -> str:
    """`an object`, `a set`."""
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def plural(count: int, word: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def shown(value: object) -> str:
    """`value` as a refusal shows it: of a long one the beginning, of one that cannot be shown the type."""
    try:
        text = repr(value)
    except Exception:  # a number of more digits than Python writes, or somebody's own __repr__
        return with_article(type(value).__name__)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def as_number(value: object) -> float | None:
    """`value` as a float, infinite where it is larger than any; None if it is no number at all."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return None if math.isnan(number) else number


def as_list(given: Iterable[T], what: str) -> list[T]:
    """What there is of `given`, if it can be gone through; `what` says what it should have held."""
    try:
        if isinstance(given, str | bytes | Mapping):  # one of them, most likely, and not its parts
            raise TypeError
        iterator = iter(given)
    except TypeError:
        raise InvalidInput(f"{what} are given as a list, not as {shown(given)}") from None
    return list(iterator)


def check_slug(value: str) -> str:
    """`value` itself, if it can be a tenant's slug."""
    return _check(value, "tenant slug", MAX_SLUG_LENGTH, _SLUG, "lower-case letters, digits, '_' and '-'")


def check_queue(value: str) -> str:
    """`value` itself, if it can name a queue."""
    return _check(value, "queue", MAX_QUEUE_LENGTH, _NAME, "letters, digits, '_' and the signs . : / -")


def check_kind(value: str) -> str:
    """`value` itself, if it can name a kind."""
    return _check(value, "kind", MAX_KIND_LENGTH, _NAME, "letters, digits, '_' and the signs . : / -")


def check_idempotency_key(value: str) -> str:
    """`value` itself, if it can be an idempotency key: any text that is not empty."""
    return _check_text(value, "idempotency key", MAX_IDEMPOTENCY_KEY_LENGTH)


def check_concurrency_key(value: str) -> str:
    """`value` itself, if it can be a concurrency key: any text that is not empty."""
    return _check_text(value, "concurrency key", MAX_CONCURRENCY_KEY_LENGTH)


def concurrency_key_text(value: object) -> str:
    """A concurrency key as text: text itself, a number or a UUID, or an enum's member that is one of them."""
    found = value.value if isinstance(value, Enum) else value
    if isinstance(found, bool) or not isinstance(found, str | int | float | Decimal | UUID):
        raise InvalidInput(f"a concurrency key is text, a number or a UUID, not {type(value).__name__}")
    if isinstance(found, float | Decimal) and not math.isfinite(found):
        raise InvalidInput(f"a concurrency key is a finite number, not {found}")
    try:
        return str(found)
    except ValueError:  # of a number with more digits than Python writes
        raise InvalidInput("a concurrency key is not as long a number as this one") from None


def _check_text(value: str, what: str, longest: int) -> str:
    _check_length(value, what, longest)
    if found := _UNSTORABLE.search(value):
        raise InvalidInput(f"the {what} contains {describe_unstorable(found.group())}")
    return value


def _check(value: str, what: str, longest: int, pattern: re.Pattern[str], allowed: str) -> str:
    _check_length(value, what, longest)
    if not pattern.fullmatch(value):
        raise InvalidInput(f"{value!r} cannot be a {what}: it may hold {allowed}, and not begin with a sign")
    return value


def _check_length(value: str, what: str, longest: int) -> None:
    if not isinstance(value, str):
        raise InvalidInput(f"the {what} must be text, not {type(value).__name__}")
    if not value:
        raise InvalidInput(f"the {what} must not be empty")
    if len(value) > longest:
        raise InvalidInput(f"the {what} is {len(value)} characters long; at most {longest} are allowed")


def find_unstorable(text: str) -> str | None:
    """The first character of `text` that the database cannot store."""
    found = _UNSTORABLE.search(text)
    return found.group() if found else None


def describe_unstorable(character: str) -> str:
    return "a NUL character" if character == "\x00" else f"the lone surrogate U+{ord(character):04X}"


def storable_text(text: str, limit_bytes: int, *, keep: Literal["start", "end"] = "start") -> str:
    """`text` with unstorable characters escaped, cut to `limit_bytes` of UTF-8."""
    escaped = text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace")
    if len(escaped) <= limit_bytes:
        return escaped.decode()
    mark = CUT_MARK.encode()
    if limit_bytes < len(mark):
        return ""
    room = limit_bytes - len(mark)
    if keep == "start":
        return (escaped[:room] + mark).decode("utf-8", "ignore")
    return (mark + escaped[len(escaped) - room :]).decode("utf-8", "ignore")
