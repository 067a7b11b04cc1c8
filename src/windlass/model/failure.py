"""An exception as error JSON: whatever a handler raises, its failure can be recorded."""

import json
import traceback
from typing import TypedDict

from windlass.model.document import MAX_ERROR_BYTES
from windlass.model.names import storable_text

MIN_ERROR_BYTES = 256
_SKELETON_BYTES = len('{"type":"","message":"","traceback":""}')


class ErrorJson(TypedDict):
    """What is kept of an exception."""

    type: str
    message: str
    traceback: str


def describe_exception(exc: BaseException, limit: int = MAX_ERROR_BYTES) -> ErrorJson:
    """What is kept of `exc`, in at most `limit` bytes of JSON; of a long traceback, the end.

    Never fails, not even for an exception whose own text cannot be made.
    """
    room = max(limit, MIN_ERROR_BYTES) - _SKELETON_BYTES
    name = _fit(_type_name(exc), room // 4)
    room -= _encoded_size(name)
    message = _fit(_message(exc), room // 2)
    room -= _encoded_size(message)
    return {"type": name, "message": message, "traceback": _fit(_traceback(exc), room, end=True)}


def exception_text(exc: BaseException) -> str:
    """What `exc` says, in words that can be stored; the name of its type if it says nothing."""
    return _message(exc) or type(exc).__name__


def _type_name(exc: BaseException) -> str:
    cls = type(exc)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _message(exc: BaseException) -> str:
    try:
        return str(exc)
    except Exception as second:  # the text comes from code that is already failing
        return f"(no text: str() raised {type(second).__name__})"


def _traceback(exc: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(exc))
    except Exception as second:  # it renders every exception of the chain, as above
        return f"(no traceback: formatting it raised {type(second).__name__})"


def _fit(text: str, room: int, *, end: bool = False) -> str:
    """`text`, storable and cut to `room` bytes once it is encoded as JSON."""
    limit = room
    while True:
        cut = storable_text(text, limit, keep="end" if end else "start")
        size = _encoded_size(cut)
        if size <= room:
            return cut
        # Quotes and control characters grow when encoded: aim lower, by at least one byte.
        limit = min(limit - 1, limit * room // size)


def _encoded_size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2
