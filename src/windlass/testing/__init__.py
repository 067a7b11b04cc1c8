"""Helpers for the tests of those who use Windlass: real databases, control of time, jobs run on demand.

The names are loaded when they are first used: pytest imports this package in every run of every project
that has Windlass installed, and most of those runs need none of it.
"""

import importlib
from typing import Any

_HOMES = {
    "Clock": "clock",
    "Ran": "due",
    "TemporaryDatabase": "server",
    "TemporaryServer": "server",
    "assert_enqueued": "look",
    "assert_not_enqueued": "look",
    "jobs": "look",
    "run_due": "due",
    "run_due_sync": "due",
}

__all__ = [
    "Clock",
    "Ran",
    "TemporaryDatabase",
    "TemporaryServer",
    "assert_enqueued",
    "assert_not_enqueued",
    "jobs",
    "run_due",
    "run_due_sync",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
