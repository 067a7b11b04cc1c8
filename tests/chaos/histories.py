"""The records of which hand-made histories are put together; the job is `a` unless told otherwise."""

from collections.abc import Callable
from typing import Any

from tests.chaos.checker import History, check

__all__ = ["asked", "end", "lease", "line", "reject"]


def lease(version: int, at: float, expires_at: float, **more: Any) -> dict[str, Any]:
    return {
        "job": "a",
        "tenant": "t",
        "version": version,
        "token": f"k{version}",
        "at": at,
        "expires_at": expires_at,
        **more,
    }


def end(version: int, at: float, outcome: str, ends: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "job": "a",
        "tenant": "t",
        "version": version,
        "token": f"k{version}",
        "at": at,
        "outcome": outcome,
        "ends": ends,
        **more,
    }


def line(what: str, version: int, **more: Any) -> dict[str, Any]:
    return {"what": what, "job": "a", "tenant": "t", "version": version, "token": f"k{version}", **more}


def asked(answer: str | None = "ok", **more: Any) -> list[dict[str, Any]]:
    job = {"job": "a", "tenant": "t", "max_attempts": 3, **more}
    lines = [{"call": 1, "step": "invoke", "verb": "enqueue", "jobs": [job]}]
    return lines if answer is None else [*lines, {"call": 1, "step": answer}]


def reject(history: History, change: Callable[[History], Any], rule: str, why: str) -> None:
    """Make a good history bad, and have the checker say so for the right reason."""
    assert check(history)[rule] == []
    change(history)
    found = check(history)[rule]
    assert any(why in sentence for sentence in found), found
