"""Options that come as they were said: which there are, and how `help` shows them."""

import difflib
import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any

from windlass.errors import InvalidInput

__all__ = ["options_of", "refuse_reserved", "refuse_unknown", "shown_signature"]


def options_of(maker: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """What `maker` takes by name alone."""
    parameters = inspect.signature(maker).parameters
    return {name: p for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}


def shown_signature(call: Callable[..., Any], maker: Callable[..., Any]) -> inspect.Signature:
    """That of a decorator, with the options of `maker` by name in place of its `**options`."""
    shown = list(inspect.signature(call).parameters.values())[:-1]
    return inspect.Signature([*shown, *options_of(maker).values()])


def refuse_unknown(given: Iterable[str], known: Collection[str]) -> None:
    """InvalidInput for an option that there is not, with the one that may have been meant."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise InvalidInput(f"there is no option {name!r}: {meant}")


def refuse_reserved(**names: str) -> None:
    """InvalidInput for a name that only Windlass itself may use, as the database says at the enqueue."""
    for what, name in names.items():
        if name.startswith("windlass."):
            raise InvalidInput(f"{what} must not begin with windlass., which is for Windlass itself")
