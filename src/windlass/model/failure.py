"""An exception as error JSON: whatever a handler raises, its failure can be recorded."""

import json
import traceback
from types import CodeType, TracebackType
from typing import TypedDict, TypeGuard

from windlass.model.document import MAX_ERROR_BYTES
from windlass.model.names import CUT_MARK, storable_text

MIN_ERROR_BYTES = 256
_SKELETON_BYTES = len('{"type":"","message":"","traceback":""}')
_ROUNDING_BYTES = 16
"""By how much a cut may fall short of its limit."""
_MAX_STACKS, _MAX_STEPS = 200, 30
_stacks: dict[tuple[int, ...], tuple[str, list[CodeType]]] = {}
"""Stacks by their places; with the code itself, so that no other code gets the same id."""


class ErrorJson(TypedDict):
    """What is kept of an exception."""

    type: str
    message: str
    traceback: str


def describe_exception(exc: BaseException, limit: int = MAX_ERROR_BYTES) -> ErrorJson:
    """What is kept of `exc`, in at most `limit` bytes of JSON; of a long traceback, the end.

    Never fails, not even for an exception whose own text cannot be made.
    """
    return fit_error({"type": _type_name(exc), "message": _message(exc), "traceback": _traceback(exc)}, limit)


def fit_error(error: ErrorJson, limit: int) -> ErrorJson:
    """The same in at most `limit` bytes of JSON."""
    room = max(limit, MIN_ERROR_BYTES) - _SKELETON_BYTES
    name = _fit(error["type"], room // 4)
    room -= _encoded_size(name)
    message = _fit(error["message"], room // 2)
    room -= _encoded_size(message)
    return {"type": name, "message": message, "traceback": _fit(error["traceback"], room, end=True)}


def is_error(value: object) -> TypeGuard[ErrorJson]:
    """Whether this is what is kept of an exception, and nothing that somebody else calls an error."""
    return (
        type(value) is dict
        and value.keys() == ErrorJson.__annotations__.keys()
        and all(isinstance(part, str) for part in value.values())
    )


def lacks(error: ErrorJson, limit: int) -> bool:
    """Whether something was cut from it for which `limit` bytes may have room: each cut leaves its mark.

    A message may end with that mark by itself; it is then described once more, in the same words.
    """
    name, message, trace = error["type"], error["message"], error["traceback"]
    if not (name.endswith(CUT_MARK) or message.endswith(CUT_MARK) or trace.startswith(CUT_MARK)):
        return False
    size = _SKELETON_BYTES + _encoded_size(name) + _encoded_size(message) + _encoded_size(trace)
    return size + _ROUNDING_BYTES < limit


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
        stack = None if _has_more_to_show(exc) else _stack(exc.__traceback__)
        if stack is None:
            return "".join(traceback.format_exception(exc))
        return stack + "".join(traceback.format_exception_only(exc))
    except Exception as second:  # it renders every exception of the chain, as above
        return f"(no traceback: formatting it raised {type(second).__name__})"


def _has_more_to_show(exc: BaseException) -> bool:
    """Whether other exceptions are shown with it, or a suggestion that the stack is asked for."""
    chained = exc.__cause__ is not None or (exc.__context__ is not None and not exc.__suppress_context__)
    return chained or isinstance(exc, BaseExceptionGroup | NameError | AttributeError)


def _stack(trace: TracebackType | None) -> str | None:
    """The stack as it is shown; None for one that is not worth keeping.

    To show one takes longer than a small job.  A handler fails in few places, and perhaps all the time.
    """
    codes: list[CodeType] = []
    places: list[int] = []
    step = trace
    while step is not None and len(codes) < _MAX_STEPS:
        code = step.tb_frame.f_code
        codes.append(code)
        places += (id(code), step.tb_lasti)
        step = step.tb_next
    if not codes or step is not None:
        return None
    place = tuple(places)
    known = _stacks.get(place)
    if known is None:
        known = "".join(["Traceback (most recent call last):\n", *traceback.format_tb(trace)]), codes
        if len(_stacks) >= _MAX_STACKS:
            _stacks.clear()
        _stacks[place] = known
    return known[0]


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
