"""Where the concurrency keys of a kind's jobs come from: a field of the payload, or a function of it."""

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel

from windlass.errors import InvalidInput
from windlass.model.names import concurrency_key_text, shown
from windlass.worker.payload import PayloadShape, bare_function

__all__ = ["KeyRule", "KeySource"]

KeySource: TypeAlias = str | Callable[..., object]
Fields: TypeAlias = Mapping[str, Any]

_CONTAINERS = (bool, bytes, dict, frozenset, list, set, tuple)


class KeyRule:
    """The name of a field, dotted where it lies deeper, or a function that is called as the handler is.

    Checked when it is made, as far as the handler's annotations tell.
    """

    __slots__ = ("_find", "_kind")

    def __init__(self, source: KeySource, shape: PayloadShape) -> None:
        self._kind = shape.kind
        self._find = _following(source, shape) if isinstance(source, str) else _calling(source, shape)

    def of(self, value: Any) -> str | None:
        """The key of a payload as the handler's types have it; what is None or left out is no key."""
        found = self._find(value)
        if found is None:
            return None
        try:
            return concurrency_key_text(found)
        except InvalidInput as error:
            raise InvalidInput(f"a job of kind {self._kind!r} gets no key: {error.message}") from None


def _following(dotted: str, shape: PayloadShape) -> Callable[[Any], object]:
    path = tuple(dotted.split("."))
    _check_path(path, shape)
    defaults = {} if shape.model is not None else shape.defaults()

    def find(value: Any) -> object:
        found: Any = {**defaults, **value} if defaults else value
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)
        return found

    return find


def _calling(function: Callable[..., object], shape: PayloadShape) -> Callable[[Any], object]:
    _check_function(function, shape)

    def find(value: Any) -> object:
        args, kwargs = shape.arguments(value)
        return function(*args, **kwargs)

    return find


def _check_path(path: tuple[str, ...], shape: PayloadShape) -> None:
    dotted = ".".join(path)
    known: Fields | None = shape.hints if shape.model is None else _fields_of(shape.model)
    more = shape.takes_more
    hint: Any = Any
    for name in path:
        if known is None or (more and name not in known):
            return  # whatever may be there
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "there is none to be found"
            raise InvalidInput(
                f"the concurrency_key {dotted!r} of {shape.kind!r} names no field {name!r}: {has}"
            )
        hint = known[name]
        known, more = _fields_of(hint), False
    if any(_is_container(part) for part in _parts(hint)):
        raise InvalidInput(
            f"the concurrency_key {dotted!r} of {shape.kind!r} is neither text nor a number nor a UUID"
        )


def _check_function(function: Callable[..., object], shape: PayloadShape) -> None:
    whose = f"the concurrency_key of {shape.kind!r}"
    if not callable(function):
        raise InvalidInput(f"{whose} is the name of a field or a function, not {shown(function)}")
    if inspect.iscoroutinefunction(bare_function(function)):
        raise InvalidInput(f"{whose} is an async function, and a key is made at once")
    try:
        args, kwargs = shape.arguments(None if shape.model is not None else dict.fromkeys(shape.hints))
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise InvalidInput(f"{whose} cannot be called as its handler is: {error}") from None
    except ValueError:  # something built in, which does not say what it takes
        return


def _fields_of(hint: Any) -> Fields | None:
    """What fields a value so annotated has, by name; None if it may have any."""
    found: dict[str, Any] = {}
    for part in _parts(hint):
        origin = typing.get_origin(part) or part
        if not isinstance(origin, type) or origin is object:
            return None
        if typing.is_typeddict(origin) or dataclasses.is_dataclass(origin):
            found |= typing.get_type_hints(origin, include_extras=True)
        elif issubclass(origin, BaseModel):
            if origin.model_config.get("extra") == "allow":
                return None
            found |= {name: field.annotation for name, field in origin.model_fields.items()}
        elif issubclass(origin, Mapping):
            return None
    return found


def _parts(hint: Any) -> list[Any]:
    """The types that an annotation comes down to, without None and without what is only said about them."""
    origin = typing.get_origin(hint)
    if origin in (typing.Annotated, typing.Required, typing.NotRequired):
        return _parts(typing.get_args(hint)[0])
    if origin in (typing.Union, types.UnionType):
        return [part for one in typing.get_args(hint) for part in _parts(one)]
    return [] if hint in (None, type(None)) else [hint]


def _is_container(part: Any) -> bool:
    origin = typing.get_origin(part) or part
    if not isinstance(origin, type):
        return False
    return issubclass(origin, (*_CONTAINERS, BaseModel)) or dataclasses.is_dataclass(origin)
