"""What JSON keeps of a value: sets, which have no order there, get one; what would be lost is found."""

import dataclasses
import json
import math
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from pydantic import BaseModel, RootModel, TypeAdapter
from pydantic_core import PydanticSerializationError, to_jsonable_python

__all__ = ["differs", "has_sets", "lost_in", "order_sets"]

_ENCODER = json.JSONEncoder(sort_keys=True)


def has_sets(adapter: "TypeAdapter[Any]") -> bool:
    """Whether anything of these types is declared as a set; what is declared as anything may be one too."""
    parts: list[Any] = [adapter.core_schema]
    seen: set[int] = set()
    while parts:
        part = parts.pop()
        if id(part) in seen or not isinstance(part, Mapping | list | tuple):
            continue
        seen.add(id(part))
        if isinstance(part, Mapping):
            if part.get("type") in ("set", "frozenset"):
                return True
            parts += part.values()
        else:
            parts += part
    return False


def order_sets(value: Any, plain: Any) -> None:
    """Give a fixed order to what `plain`, the JSON values of `value`, has of sets.

    In each process a set has an order of its own, and a JSON list keeps it: to whoever compares, as
    idempotency keys do, the same payload would be another one.
    """
    if isinstance(value, RootModel):
        order_sets(value.root, plain)
        return
    for part, written in _pairs(value, plain):
        if isinstance(written, list | dict):
            order_sets(part, written)
    if isinstance(value, AbstractSet) and isinstance(plain, list):
        plain.sort(key=_ENCODER.encode)


def differs(one: Any, other: Any) -> bool:
    """Whether two values are not the same, as far as they can tell."""
    try:
        return bool(one != other)
    except Exception:  # arrays and their like do not compare
        return True


def lost_in(adapter: "TypeAdapter[Any]", value: Any, plain: Any) -> str | None:
    """What of a value became something else in `plain`, its JSON values, without a word."""
    try:
        dumped = adapter.dump_python(value, by_alias=True, warnings=False)
    except (TypeError, PydanticSerializationError):  # such as a set of models: no set of dicts can be made
        dumped = value
    return _lost(dumped, plain)


def _lost(value: Any, plain: Any) -> str | None:
    if isinstance(value, RootModel):
        value = value.root
    if hasattr(value, "get_secret_value"):
        return "a secret (store a reference to it instead)" if _is_masked(value, plain) else None
    if isinstance(value, float):
        kept = math.isfinite(value) or not isinstance(plain, float | None)
        return None if kept else "a number that is not finite"
    return next(filter(None, (_lost(part, written) for part, written in _pairs(value, plain))), None)


def _is_masked(secret: Any, plain: Any) -> bool:
    """Whether asterisks were written for it, and not what a serializer of somebody's makes of it."""
    try:
        return bool(plain == to_jsonable_python(secret) != secret.get_secret_value())
    except Exception:  # nothing is written for such a one without a serializer
        return False


def _pairs(value: Any, plain: Any) -> Iterator[tuple[Any, Any]]:
    """The parts of a value beside what was written of each; none where a serializer changed the shape."""
    if isinstance(plain, dict):
        if isinstance(value, BaseModel):
            yield from _fields_beside(value, plain)
        elif dataclasses.is_dataclass(value):
            names = [field.name for field in dataclasses.fields(value)]
            yield from _beside({name: getattr(value, name, None) for name in names}, plain)
        elif isinstance(value, Mapping):
            yield from _beside(value, plain)
    elif isinstance(plain, list) and isinstance(value, Collection) and len(value) == len(plain):
        yield from zip(value, plain, strict=True)


def _beside(value: Mapping[Any, Any], plain: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    if len(value) == len(plain):  # written in the same order, though maybe under other names
        yield from zip(value.values(), plain.values(), strict=True)
    else:
        yield from ((value[key], written) for key, written in plain.items() if key in value)


def _fields_beside(value: BaseModel, plain: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    model = type(value)
    names = {field.serialization_alias or name: name for name, field in model.model_fields.items()}
    names |= {field.alias or name: name for name, field in model.model_computed_fields.items()}
    more = value.model_extra or {}
    for key, written in plain.items():
        yield getattr(value, names[key], None) if key in names else more.get(key), written
