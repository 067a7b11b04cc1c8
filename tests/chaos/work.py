"""The application that the worker processes run, and the program that runs it.

What its handlers do is written to a ledger outside the database, a line at a time, as it happens.
"""

import asyncio
import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.chaos.records import Recorder, append_synced
from windlass import JobContext, NewJob, Snooze, Windlass
from windlass.errors import LeaseLost
from windlass.node import Node, run_node
from windlass.settings import Settings
from windlass.telemetry import configure_logging

app = Windlass()


def note(ctx: JobContext, what: str, how: str = "ok", **facts: Any) -> None:
    append_synced(
        os.environ["WINDLASS_TEST_LEDGER"],
        what=what,
        how=how,
        job=ctx.job.id,
        tenant=ctx.tenant_id,
        version=ctx.version,
        attempt=ctx.attempt,
        token=ctx.token,
        node=ctx.worker_id,
        pid=os.getpid(),
        **facts,
    )


class Planned(Exception):
    """A failure that the job's payload asked for."""


def begin(ctx: JobContext, fails: int) -> None:
    note(ctx, "start")
    if ctx.attempt <= fails:
        note(ctx, "end", "error")
        raise Planned(f"attempt {ctx.attempt} of {fails} that fail")


# What the load is made of ---------------------------------------------------------------------------


@app.job
async def chore(ctx: JobContext, seconds: float = 0.0, fails: int = 0, snoozes: int = 0) -> int | Snooze:
    """Fails at its first attempts or snoozes, if so told, and then ends after a while."""
    begin(ctx, fails)
    await asyncio.sleep(seconds)
    if ctx.attempt <= snoozes:
        note(ctx, "end", "snooze")
        return Snooze(0.2)
    note(ctx, "end")
    return ctx.attempt


@app.job
async def turn(ctx: JobContext, seconds: float = 0.0, fails: int = 0, snoozes: int = 0) -> int | Snooze:
    """The same for jobs with a key."""
    return await chore(ctx, seconds, fails, snoozes)


@app.job
def errand(ctx: JobContext, seconds: float = 0.0, fails: int = 0) -> int:
    """The same in a thread."""
    begin(ctx, fails)
    time.sleep(seconds)
    note(ctx, "end")
    return ctx.attempt


@app.job
async def parent(ctx: JobContext) -> int:
    """Enqueues a job of its own, under an id that a second attempt would choose again."""
    note(ctx, "start")
    child = UUID(int=ctx.job.id.int ^ 1)
    told = {"job": child, "tenant": ctx.tenant_id, "kind": "chore", "max_attempts": 25}
    with Recorder(Path(os.environ["WINDLASS_TEST_CALLS"])).call("enqueue", [told]):
        await app.client.enqueue(NewJob(kind="chore", payload={}, id=child, max_attempts=25))
    note(ctx, "end")
    return ctx.attempt


@contextmanager
def spending(ctx: JobContext, number: int) -> Iterator[tuple[int, str]]:
    """What to say of a cost, under a name that is found again; noted before it is said, and as answered."""
    cents, entry = 7 + number, f"{ctx.job.id} {ctx.version} {number}"
    note(ctx, "cost", "said", entry=entry, cents=cents)
    try:
        yield cents, entry
    except LeaseLost:
        note(ctx, "cost", "refused", entry=entry, cents=cents)
        raise
    note(ctx, "cost", "ok", entry=entry, cents=cents)


@app.job
async def purchase(ctx: JobContext, entries: int) -> int:
    note(ctx, "start")
    for number in range(entries):
        with spending(ctx, number) as (cents, what):
            await ctx.cost(cents, what)
    note(ctx, "end")
    return ctx.attempt


@app.job
def purchase_in_thread(ctx: JobContext, entries: int) -> int:
    note(ctx, "start")
    for number in range(entries):
        with spending(ctx, number) as (cents, what):
            ctx.cost(cents, what)
    note(ctx, "end")
    return ctx.attempt


# Handlers that are faults themselves -----------------------------------------------------------


@app.job
def poison(ctx: JobContext, attempts: int = 1_000) -> int:
    """Takes its worker along."""
    note(ctx, "start")
    if ctx.attempt <= attempts:
        os._exit(13)
    note(ctx, "end")
    return ctx.attempt


@app.job
def devour(ctx: JobContext, cgroup: str | None = None) -> int:
    """Takes more memory than there is, at its first attempt.

    The kernel kills the process when it is in a memory cgroup; elsewhere its own limit ends it as hard.
    """
    note(ctx, "start")
    if ctx.attempt == 1:
        if cgroup is not None:
            (Path(cgroup) / "cgroup.procs").write_text(str(os.getpid()))
        else:
            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        kept = []
        try:
            while True:
                kept.append(bytearray(os.urandom(1 << 20) * 8))
        except MemoryError:
            os.kill(os.getpid(), signal.SIGKILL)
    note(ctx, "end")
    return ctx.attempt


@app.job
def seize(ctx: JobContext, seconds: float) -> int:
    """Blocks in C with the interpreter's lock, at its first attempt: no thread here can renew."""
    note(ctx, "start")
    if ctx.attempt == 1:
        ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))
    note(ctx, "end")
    return ctx.attempt


@app.job(isolation="process")
def seize_in_child(ctx: JobContext, seconds: float) -> int:
    """The same where it harms nobody else."""
    note(ctx, "start")
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))
    note(ctx, "end")
    return ctx.attempt


# What single tests ask for ---------------------------------------------------------------------------


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
async def deaf(ctx: JobContext, seconds: float) -> None:
    """A coroutine that does not heed its cancellation."""
    note(ctx, "start")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)


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
