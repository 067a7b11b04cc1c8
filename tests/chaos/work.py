"""The application that the worker processes run, and the program that runs it.

What its handlers do is written to a ledger outside the database, a line at a time, as it happens.
"""

import asyncio
import os
import sys
import time

from windlass import JobContext, Windlass
from windlass.node import Node, run_node
from windlass.settings import Settings
from windlass.telemetry import configure_logging

app = Windlass()


def note(ctx: JobContext, what: str) -> None:
    line = f"{what} {ctx.job.id} {ctx.attempt} {os.getpid()}\n"
    file = os.open(os.environ["WINDLASS_TEST_LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, line.encode())
    os.close(file)


@app.job
async def nap(ctx: JobContext, seconds: float) -> int:
    """Ends after a while."""
    note(ctx, "start")
    await asyncio.sleep(seconds)
    note(ctx, "end")
    return ctx.attempt


@app.job
async def nap_once(ctx: JobContext, seconds: float) -> int:
    """Takes long at the first attempt only."""
    note(ctx, "start")
    if ctx.attempt == 1:
        time.sleep(seconds)  # blocks the loop: nothing here may hear of anything meanwhile
    note(ctx, "end")
    return ctx.attempt


@app.job
def stubborn(ctx: JobContext, seconds: float) -> None:
    """A thread that nobody can stop."""
    note(ctx, "start")
    time.sleep(seconds)


@app.job
def poison(ctx: JobContext) -> None:
    """Takes its worker along."""
    note(ctx, "start")
    os._exit(13)


@app.job(isolation="process")
def in_child(ctx: JobContext, seconds: float) -> int:
    note(ctx, "start")
    time.sleep(seconds)
    note(ctx, "end")
    return ctx.attempt


@app.job(isolation="process")
def burn_in_c(ctx: JobContext, seconds: float) -> int:
    """Holds the interpreter's lock for long stretches, as an extension module may."""
    note(ctx, "start")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(20_000_000))
    return ctx.attempt


@app.job
async def burn(ctx: JobContext, seconds: float) -> int:
    note(ctx, "start")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return ctx.attempt


def tell_ready(_: Node) -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


if __name__ == "__main__":
    settings = Settings.from_env()
    configure_logging(settings.log_format, settings.log_level, worker_id=settings.node_name)
    run_node(settings, app, ready=tell_ready)
    sys.exit(0)
