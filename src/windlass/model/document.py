"""JSON that the database can keep: checked and encoded in one pass, refused with the reason."""

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from windlass.errors import InvalidInput
from windlass.model.names import describe_unstorable, find_unstorable, with_article

MAX_PAYLOAD_BYTES = 1024 * 1024
MAX_RESULT_BYTES = 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
MAX_DEPTH = 100
_MAX_PATH_LENGTH = 200

_CONTAINERS = (dict, list, tuple)
_TEXT = frozenset({str})
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def check_json(value: Any, limit_bytes: int, what: str) -> str:
    """`value` as JSON text, or InvalidInput naming the part of `what` that cannot be stored.

    Whatever this returns reads back as the same value (a tuple as a list); only jsonb, which knows
    one kind of number, gives a whole float back as an integer.
    """
    try:
        text = _ENCODER.encode(value)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as exc:  # also: a lone surrogate cannot be encoded
        raise _refusal(value, what, exc) from None
    if size > limit_bytes:
        raise InvalidInput(
            f"the {what} is {size} bytes of JSON; the limit is {limit_bytes} bytes",
            size=size,
            limit=limit_bytes,
        )
    # The encoder turns other keys into text without a word, and writes NUL as an escape that
    # PostgreSQL refuses.  The escape may also be innocent text behind a backslash: look closely.
    if not _plain(value) or "\\u0000" in text:
        for path, fault in _faults(value):
            raise InvalidInput(f"{_spell(what, path)} {fault}", path=_spell("", path))
    return text


def json_array(values: list[Any], limit_bytes: int) -> str | None:
    """The JSON array of `values`, if all of it is within `limit_bytes` and `check_json` would refuse none.

    Many small values cost far less together than one by one; None says that they must be looked at.
    """
    try:
        text = _ENCODER.encode(values)
        size = len(text) if text.isascii() else len(text.encode())
    except (TypeError, ValueError, RecursionError):
        return None
    return text if size <= limit_bytes and _plain(values, MAX_DEPTH + 1) and "\\u0000" not in text else None


def _plain(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Whether every key is text and nothing lies deeper than `depth`."""
    layer: list[Any] = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(depth):
        below: list[Any] = []
        for part in layer:
            if isinstance(part, dict) and not _TEXT.issuperset(map(type, part)) and not _all_text(part):
                return False
            inside = part.values() if isinstance(part, dict) else part
            below += [inner for inner in inside if isinstance(inner, _CONTAINERS)]
        if not below:
            return True
        layer = below
    return False


def _all_text(keys: Iterable[Any]) -> bool:
    return all(isinstance(key, str) for key in keys)


def _refusal(value: Any, what: str, exc: Exception) -> InvalidInput:
    for path, fault in _faults(value):
        return InvalidInput(f"{_spell(what, path)} {fault}", path=_spell("", path))
    return InvalidInput(f"the {what} cannot be written as JSON: {exc}")


def _faults(value: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every reason why `value` cannot be kept, with the path to it; stops below MAX_DEPTH."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while stack:
        path, part = stack.pop()
        if fault := _fault(part, len(path)):
            yield path, fault
        elif isinstance(part, dict):
            for key in part:
                if not isinstance(key, str):
                    yield path, f"has the key {key!r:.100}, which is not text"
                elif character := find_unstorable(key):
                    yield path, f"has a key that contains {describe_unstorable(character)}"
            stack.extend(
                ((*path, key), inner) for key, inner in reversed(part.items()) if isinstance(key, str)
            )
        elif isinstance(part, list | tuple):
            stack.extend(((*path, index), part[index]) for index in reversed(range(len(part))))


def _fault(part: Any, depth: int) -> str | None:
    if isinstance(part, str):
        character = find_unstorable(part)
        return f"contains {describe_unstorable(character)}" if character else None
    if isinstance(part, float):
        return None if math.isfinite(part) else f"is {part}, which JSON cannot hold"
    if isinstance(part, dict | list | tuple):
        return f"is nested deeper than {MAX_DEPTH} levels" if depth >= MAX_DEPTH else None
    if part is None or isinstance(part, int):
        return None
    return f"is {with_article(type(part).__name__)}, which JSON cannot hold"


def _spell(what: str, path: tuple[str | int, ...]) -> str:
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    spelled = (what + steps).encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
    return spelled if len(spelled) <= _MAX_PATH_LENGTH else spelled[: _MAX_PATH_LENGTH - 1] + "…"
