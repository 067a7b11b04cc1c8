"""The application that the nodes of the cluster tests run, and the program that runs it.

What its handlers do is written to a ledger outside the database, a line at a time, as it happens.  A
handler that is told to hold waits for a file, so that a test decides in which phase a node is killed.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from windlass import JobContext, LeaderContext, Windlass
from windlass.node import Node, run_node
from windlass.settings import Settings
from windlass.telemetry import configure_logging

app = Windlass()
_PLACE = Path(os.environ.get("WINDLASS_TEST_PLACE", "."))


def note(ctx: JobContext, what: str, **more: Any) -> None:
    line = {"what": what, "job": str(ctx.job.id), "node": ctx.worker_id, "version": ctx.version, **more}
    file = os.open(_PLACE / "ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, (json.dumps({**line, "pid": os.getpid()}) + "\n").encode())
    os.close(file)


async def held(ctx: JobContext, phase: str, hold: str) -> None:
    while phase == hold and not (_PLACE / f"{phase}-{ctx.job.id}").exists():
        await asyncio.sleep(0.01)


@app.cluster_job(max_attempts=1000, on_timeout="wait")
async def spread(ctx: JobContext, hold: str = "", seconds: float = 0.0) -> str:
    note(ctx, "part.start")
    await asyncio.sleep(seconds)
    await held(ctx, "part", hold)
    note(ctx, "part.end")
    return ctx.worker_id


@spread.leader(max_attempts=1000)
async def gather(ctx: LeaderContext, hold: str = "", seconds: float = 0.0) -> dict[str, Any]:
    note(ctx.attempt, "action.start", term=ctx.term)
    await asyncio.sleep(seconds)
    await held(ctx.attempt, "action", hold)
    note(ctx.attempt, "action.end", term=ctx.term)
    return {"term": ctx.term, "nodes": sorted(ctx.results), "warning": ctx.warning}


def tell_ready(_: Node) -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


if __name__ == "__main__":
    settings = Settings.from_env()
    configure_logging(settings.log_format, settings.log_level, worker_id=settings.node_name)
    run_node(settings, app, ready=tell_ready)
    sys.exit(0)
