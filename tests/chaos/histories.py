"""The records of which hand-made histories are put together; the job is `a` unless told otherwise."""

from typing import Any

__all__ = ["asked", "end", "lease", "line"]


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
