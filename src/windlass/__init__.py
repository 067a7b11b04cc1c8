"""Durable, tenant-safe jobs on PostgreSQL.

from windlass import Windlass

app = Windlass()


@app.job
async def greet(name: str) -> str:
    return f"Hello, {name}"

The names are loaded when they are first used: a command, a test run or a module that needs one of them
does not pay for the others.
"""

import importlib
from typing import Any

_HOMES = {
    "Cancel": "windlass.model",
    "Forbidden": "windlass.errors",
    "IdempotencyConflict": "windlass.errors",
    "InvalidInput": "windlass.errors",
    "InvalidTransition": "windlass.errors",
    "Job": "windlass.model",
    "JobContext": "windlass.worker.context",
    "JobFailed": "windlass.errors",
    "JobFunction": "windlass.app",
    "JobHandle": "windlass.client",
    "JobState": "windlass.model",
    "LeaderContext": "windlass.cluster",
    "LeaseLost": "windlass.errors",
    "LimitExceeded": "windlass.errors",
    "NewJob": "windlass.model",
    "NotFound": "windlass.errors",
    "NotLeader": "windlass.errors",
    "RetryAfter": "windlass.model",
    "RetryPolicy": "windlass.model",
    "SchemaMismatch": "windlass.errors",
    "Skip": "windlass.model",
    "Snooze": "windlass.model",
    "SyncJobHandle": "windlass.client",
    "Unavailable": "windlass.errors",
    "WaitTimeout": "windlass.errors",
    "Windlass": "windlass.app",
    "WindlassError": "windlass.errors",
}

__all__ = [
    "Cancel",
    "Forbidden",
    "IdempotencyConflict",
    "InvalidInput",
    "InvalidTransition",
    "Job",
    "JobContext",
    "JobFailed",
    "JobFunction",
    "JobHandle",
    "JobState",
    "LeaderContext",
    "LeaseLost",
    "LimitExceeded",
    "NewJob",
    "NotFound",
    "NotLeader",
    "RetryAfter",
    "RetryPolicy",
    "SchemaMismatch",
    "Skip",
    "Snooze",
    "SyncJobHandle",
    "Unavailable",
    "WaitTimeout",
    "Windlass",
    "WindlassError",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is not None:
        value = getattr(importlib.import_module(home), name)
    elif name == "__version__":
        value = _version()
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("windlass-jobs")
    except metadata.PackageNotFoundError:
        return "unknown"  # run from a source tree that was never installed
