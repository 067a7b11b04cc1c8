"""Helpers for the tests of those who use Windlass: real databases, control of time, jobs run on demand.

The names are loaded when they are first used: pytest imports this package in every run of every project
that has Windlass installed, and most of those runs need none of it.
"""

import importlib
from typing import Any

_HOMES = {
    "Clock": "clock",
    "TemporaryDatabase": "server",
    "TemporaryServer": "server",
}

__all__ = ["Clock", "TemporaryDatabase", "TemporaryServer"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
