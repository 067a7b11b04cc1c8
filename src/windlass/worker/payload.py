"""A handler's parameters as JSON and back: checked when a job is enqueued, and again when it runs.

A handler takes either one model (a pydantic model or a dataclass), which is then the whole payload, or
plain parameters, which are then the fields of a JSON object.  A context may stand before them.
"""

import contextlib
import dataclasses
import functools
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any, NotRequired

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError
from typing_extensions import TypedDict

from windlass.errors import InvalidInput
from windlass.model import Cancel, RetryAfter, Skip, Snooze
from windlass.model.faults import faults_in_words
from windlass.worker.context import JobContext
from windlass.worker.kept import differs, has_sets, lost_in, order_sets

__all__ = ["InvalidPayload", "PayloadShape", "bare_function", "result_adapter"]

_DECISIONS = (Snooze, RetryAfter, Cancel, Skip)
_SHOWN_FAULTS = 5
_PLACED = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class InvalidPayload(InvalidInput):
    """A stored payload that does not fit its handler.

    Retried as any failure is: while a new release is rolled out, another node may well be able to read it.
    """


class PayloadShape:
    """What one handler takes: `encode` at enqueue, `decode` at run."""

    __slots__ = (
        "_adapter",
        "_by_name",
        "_by_place",
        "_has_sets",
        "_ordered",
        "_required",
        "_signature",
        "_validate_json",
        "hints",
        "kind",
        "model",
        "takes_more",
        "wants_context",
    )

    def __init__(self, function: Callable[..., Any], kind: str) -> None:
        hints = type_hints(function, kind)
        parameters = list(inspect.signature(function).parameters.values())
        self.kind = kind
        self.wants_context = bool(parameters) and _is_context(parameters[0], hints)
        if self.wants_context:
            del parameters[0]
        _refuse_strange(parameters, hints, kind)
        self._signature = inspect.Signature(parameters)
        self._by_place = tuple(p.name for p in parameters if p.kind in _PLACED)
        self._by_name = frozenset(p.name for p in parameters if p.kind in _NAMED)
        self._required = frozenset(p.name for p in parameters if p.default is Parameter.empty)
        self.model: Any = _whole_model(parameters, hints)
        named = [p for p in parameters if p.kind is not Parameter.VAR_KEYWORD]
        self.hints: Mapping[str, Any] = {p.name: hints.get(p.name, Any) for p in named}
        self.takes_more = len(named) < len(parameters)
        # Positional-only parameters have names in the payload, but not in the call.
        self._ordered = tuple(p.name for p in parameters if p.kind is Parameter.POSITIONAL_ONLY)
        self._adapter = _adapter(self.model or _fields(parameters, hints, kind), kind)
        self._validate_json = self._adapter.validator.validate_json
        self._has_sets = has_sets(self._adapter)

    def encode(self, *args: Any, **kwargs: Any) -> Any:
        """The payload of a call, as plain JSON values; InvalidInput says what does not fit."""
        return self.check(*args, **kwargs)[1]

    def check(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The payload of a call as the handler's types have it, and as plain JSON values."""
        given = self._bind(args, kwargs)
        try:
            return self._written(self._adapter.validate_python(given))
        except ValidationError as error:
            raise self._refusal(error) from None

    def check_json(self, payload: Any) -> tuple[Any, Any]:
        """The same of a payload that is plain JSON already: read as it will be when it runs."""
        return self._written(self._read_text(json.dumps(payload).encode()))

    def _written(self, value: Any) -> tuple[Any, Any]:
        try:
            plain = self._adapter.dump_python(value, mode="json", by_alias=True, warnings="error")
        except (PydanticSerializationError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"the payload of {self.kind!r} cannot be written as JSON: {_fault(error)}"
            ) from None
        if self._refuse_loss(value, plain) or self._has_sets:
            order_sets(value, plain)
        return value, plain

    def decode(self, payload: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """How to call the handler with a stored payload, given as JSON text.

        InvalidInput says what does not fit.
        """
        return self._call(self._read_text(payload))

    def _read_text(self, payload: bytes) -> Any:
        try:
            return self._validate_json(payload)
        except ValidationError as error:
            return self._read(payload, error)

    def arguments(self, value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """How the handler would be called with a payload that was checked, its defaults included."""
        return self._call(value if self.model is not None else {**self.defaults(), **value})

    def defaults(self) -> dict[str, Any]:
        parameters = self._signature.parameters.values()
        return {p.name: p.default for p in parameters if p.default is not Parameter.empty}

    def _call(self, value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if self.model is not None:
            return (value,), {}
        if not self._ordered:
            return (), value
        return tuple(value.pop(name) for name in self._ordered if name in value), value

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if (
            self.model is not None
            and not args
            and kwargs
            and next(iter(self._signature.parameters)) not in kwargs
        ):
            return kwargs  # the model's own fields, by name
        given = dict(zip(self._by_place, args, strict=False))
        if (
            len(given) == len(args)
            and self._by_name.issuperset(kwargs)
            and given.keys().isdisjoint(kwargs)
            and self._required <= (given := {**given, **kwargs}).keys()
        ):  # what `bind` would find, at a fraction of its price
            return given if self.model is None else next(iter(given.values()))
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InvalidInput(f"the payload of {self.kind!r} does not fit its handler: {error}") from None
        if self.model is not None:
            return next(iter(bound.arguments.values()))
        given = dict(bound.arguments)
        for parameter in self._signature.parameters.values():
            if parameter.kind is Parameter.VAR_KEYWORD:
                given.update(given.pop(parameter.name, {}))
        return given

    def _refuse_loss(self, value: Any, plain: Any) -> bool:
        """Some models do not read what they write, or write less than they hold: said now, not at run.

        Whether it comes back as something else at all, as does a set where anything is declared.
        """
        try:
            again = self._adapter.validate_python(plain)
        except ValidationError:  # what is strict takes some things from JSON only
            try:
                again = self._validate_json(json.dumps(plain))
            except (ValidationError, ValueError) as error:
                faults = self._refusal(error).message if isinstance(error, ValidationError) else str(error)
                raise InvalidInput(
                    f"the payload of {self.kind!r} cannot be read back from what is stored of it: {faults}"
                ) from None
        if not differs(again, value):
            return False
        if lost := lost_in(self._adapter, value, plain):
            raise InvalidInput(f"the payload of {self.kind!r} holds {lost}, which JSON would not keep")
        return True

    def _read(self, payload: bytes, refused: ValidationError) -> Any:
        # What asks for an instance of something takes it in Python's terms only: ask again in those.  Not
        # where the text itself is too deep or too long: how much of that Python bears differs by version.
        if refused.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid":
            with contextlib.suppress(ValidationError):
                return self._adapter.validate_python(json.loads(payload))
        refusal = self._refusal(refused)
        raise InvalidPayload(refusal.message, **refusal.details) from None

    def _refusal(self, error: ValidationError) -> InvalidInput:
        faults = error.errors(include_url=False, include_input=False)
        # Without the values: a payload may hold what does not belong into a log.
        shown = faults_in_words(faults)
        more = f" and {len(shown) - _SHOWN_FAULTS} more" if len(shown) > _SHOWN_FAULTS else ""
        return InvalidInput(
            f"the payload of {self.kind!r} is not valid: {'; '.join(shown[:_SHOWN_FAULTS])}{more}",
            faults=shown,
        )


def _fault(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "bytes that are no UTF-8 text"
    # Its own text quotes the values where they do not match their types.
    return str(error).partition("\n")[0].removesuffix("Pydantic serializer warnings:") or "a wrong type"


def type_hints(function: Callable[..., Any], kind: str) -> Mapping[str, Any]:
    """The annotations of a handler, which may be a function, a method or an object that can be called."""
    try:
        return typing.get_type_hints(bare_function(function), include_extras=True)
    except NameError as error:
        raise InvalidInput(
            f"the annotations of the handler of {kind!r} cannot be read: {error}; "
            "what they name must be defined in its module"
        ) from None


def bare_function(function: Callable[..., Any]) -> Any:
    """The function behind a partial or behind an object that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def result_adapter(function: Callable[..., Any], kind: str) -> "TypeAdapter[Any] | None":
    """What reads a stored result as the handler's return annotation; None if it says nothing.

    Decisions in the annotation are left out: they are not results.
    """
    annotation = type_hints(function, kind).get("return", Any)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        left = tuple(part for part in typing.get_args(annotation) if part not in _DECISIONS)
        annotation = typing.Union[left] if left else Any  # noqa: UP007 - made at run time
    if annotation in (Any, None, type(None), *_DECISIONS):
        return None
    return _adapter(annotation, kind)


def _is_context(parameter: Parameter, hints: Mapping[str, Any]) -> bool:
    hint = hints.get(parameter.name, Any)
    return hint is JobContext or (hint is Any and parameter.name == "ctx")


def _refuse_strange(parameters: list[Parameter], hints: Mapping[str, Any], kind: str) -> None:
    for parameter in parameters:
        if parameter.kind is Parameter.VAR_POSITIONAL:
            raise InvalidInput(
                f"the handler of {kind!r} takes *{parameter.name}, but a payload's fields have names"
            )
        if _is_context(parameter, hints):
            raise InvalidInput(f"the handler of {kind!r} must take its context as the first parameter")


def _whole_model(parameters: list[Parameter], hints: Mapping[str, Any]) -> Any:
    if len(parameters) != 1 or parameters[0].kind in (Parameter.VAR_KEYWORD, Parameter.KEYWORD_ONLY):
        return None
    hint = hints.get(parameters[0].name)
    if not isinstance(hint, type):
        return None
    return hint if issubclass(hint, BaseModel) or dataclasses.is_dataclass(hint) else None


def _fields(parameters: list[Parameter], hints: Mapping[str, Any], kind: str) -> Any:
    fields: dict[str, Any] = {}
    extra: typing.Literal["allow", "forbid"] = "forbid"
    for parameter in parameters:
        hint = hints.get(parameter.name, Any)
        if parameter.kind is Parameter.VAR_KEYWORD:
            extra = "allow"
        else:
            fields[parameter.name] = hint if parameter.default is Parameter.empty else NotRequired[hint]
    make: Any = TypedDict
    shape = make(f"payload of {kind}", fields)
    shape.__pydantic_config__ = ConfigDict(extra=extra, arbitrary_types_allowed=False)
    return shape


def _adapter(annotation: Any, kind: str) -> "TypeAdapter[Any]":
    try:
        return TypeAdapter(annotation)
    except PydanticUserError as error:
        raise InvalidInput(f"the handler of {kind!r} cannot be a job: {error.message}") from None
