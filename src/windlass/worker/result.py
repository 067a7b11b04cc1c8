"""What a handler returned: written as JSON that the database can keep, and read as what is declared."""

import contextlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from windlass.errors import InvalidInput
from windlass.model import MAX_RESULT_BYTES, check_json
from windlass.model.faults import faults_in_words
from windlass.worker.kept import differs, lost_in

__all__ = ["ANY_RESULT", "ResultShape"]

_ANYTHING: "TypeAdapter[Any]" = TypeAdapter(Any)
_UNWRITABLE = (PydanticSerializationError, ValueError, RecursionError)
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})

_SHOWN_FAULTS = 5

_log = logging.getLogger("windlass.result")


class ResultShape:
    """What one handler returns, by its annotation; without an adapter it says nothing."""

    __slots__ = ("_adapter", "_kind")

    def __init__(self, kind: str, adapter: "TypeAdapter[Any] | None" = None) -> None:
        self._kind = kind
        self._adapter = adapter

    def encode(self, value: Any, limit_bytes: int = MAX_RESULT_BYTES) -> str | None:
        """`value` as JSON text; None stays None.  InvalidInput says what JSON cannot keep."""
        if value is None:
            return None
        try:
            return check_json(value, limit_bytes, "result")
        except InvalidInput as error:
            if "size" in error.details:
                raise
            refused = error
        try:
            plain = self._write(value)
        except _UNWRITABLE:
            raise refused from None
        finally:
            del refused  # it holds this frame, and the value: they are not to wait for a collector of garbage
        return check_json(plain, limit_bytes, "result")

    def decode(self, result: Any) -> Any:
        """A stored result as the annotation has it; plain JSON where it cannot be read so.

        Its job has succeeded, and whoever waits for it did nothing wrong: a model that does not read what it
        writes, or another release's result, is no reason to withhold it.
        """
        if self._adapter is None or result is None:
            return result
        try:
            return _read(self._adapter, result)
        except ValidationError as error:
            why = "; ".join(faults_in_words(_faults(error)[:_SHOWN_FAULTS]))
            _log.warning("a result of %s is not as declared, and is given as plain JSON: %s", self._kind, why)
            return result

    def _write(self, value: Any) -> Any:
        # As what it is, and first, for an iterator gives what it has but once.  The annotation may name less,
        # as that of a base class does: its way of writing counts where the same comes back.
        adapter, plain, fault = _ANYTHING, None, None
        try:
            plain = to_jsonable_python(value, by_alias=True)
        except _UNWRITABLE as error:
            fault = error
        if self._adapter is not None:
            with contextlib.suppress(Exception):  # whatever somebody's serializers and validators raise
                declared = self._adapter.dump_python(value, mode="json", by_alias=True, warnings="error")
                if fault is not None:
                    adapter, plain, fault = self._adapter, declared, None
                if not differs(_read(self._adapter, declared), value):
                    return declared
        if fault is not None:
            try:
                raise fault
            finally:
                del fault  # as above
        if lost := lost_in(adapter, value, plain):
            raise InvalidInput(f"the result holds {lost}, which JSON would not keep")
        return plain


ANY_RESULT = ResultShape("any kind")
"""Of a handler that declares nothing."""


def _read(adapter: "TypeAdapter[Any]", plain: Any) -> Any:
    # From JSON first: what is strict takes some things from there only, and instances from Python only.
    try:
        return adapter.validate_json(json.dumps(plain))
    except ValidationError as error:
        refused = error
    try:
        with contextlib.suppress(ValidationError):
            return adapter.validate_python(plain)
        # A model that allows no more than its fields writes more all the same: those that it computes.
        faults = _faults(refused)
        if not _UNKNOWN.issuperset(fault["type"] for fault in faults):
            raise refused
        try:
            return adapter.validate_json(json.dumps(_without(plain, [fault["loc"] for fault in faults])))
        except ValidationError:
            raise refused from None
    finally:
        del refused  # as above


def _faults(error: ValidationError) -> Sequence[Mapping[str, Any]]:
    return error.errors(include_url=False, include_input=False)


def _without(plain: Any, places: Iterable[tuple[int | str, ...]]) -> Any:
    """A copy without what is in these places, which name members of unions and the like as well."""
    copy = json.loads(json.dumps(plain))
    for place in places:
        part = copy
        for step in place[:-1]:
            if isinstance(part, list) and isinstance(step, int):
                part = part[step]
            elif isinstance(part, dict):
                part = part.get(step, part)
        if isinstance(part, dict):
            part.pop(place[-1], None)
    return copy
