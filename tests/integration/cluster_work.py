"""Cluster jobs in a module of their own, where a child process can find them."""

import os
import time
from pathlib import Path
from typing import Any

from windlass import LeaderContext, Windlass
from windlass.model.retry import RetryPolicy

app = Windlass("postgresql:///replaced_by_the_test")
AT_ONCE = RetryPolicy(base_seconds=0.0, max_attempts=3)


@app.cluster_job(isolation="process")
def child_pid() -> int:
    return os.getpid()


@app.cluster_job(isolation="process", quorum="all")
def measure(place: str, hangs: int = 0) -> int:
    return os.getpid()


@measure.leader(isolation="process", retry=AT_ONCE)
def sum_up(ctx: LeaderContext, place: str, hangs: int = 0) -> dict[str, Any]:
    """In its first so many attempts it hangs, and leaves word of where it does."""
    attempt = ctx.attempt.attempt
    leave_word(Path(place) / f"pid-{attempt}")
    if attempt <= hangs:
        time.sleep(600)
    return {"pid": os.getpid(), "term": ctx.term, "results": ctx.results, "attempt": attempt}


@app.leader_job(isolation="process", timeout=0.3, max_attempts=1)
async def hasty(ctx: LeaderContext, place: str, hangs: bool = True) -> int:
    leave_word(Path(place) / "pid-1")
    if hangs:
        time.sleep(600)  # it does not let the event loop of its process go on either
    return ctx.term


def leave_word(path: Path) -> None:
    path.with_suffix(".new").write_text(str(os.getpid()))
    path.with_suffix(".new").rename(path)
