"""The program of a child process: runs one handler after the other, until its worker is gone."""

import functools
import importlib
import logging
import os
import runpy
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, NoReturn

from windlass.client.detours import follow
from windlass.db.main_program import reading_main_program
from windlass.errors import UnknownKind
from windlass.telemetry import running_job
from windlass.worker.children import Order, Target
from windlass.worker.context import JobContext
from windlass.worker.handler import run_sync
from windlass.worker.registry import JobDefinition
from windlass.worker.voice import Forward, Relay, Voice
from windlass.worker.words import Word, word_for_error

__all__ = ["main"]


def main(fd: int) -> None:
    """Serve the worker at the other end of `fd`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.set_inheritable(fd, False)
    watcher = threading.Thread(target=_die_with_worker, args=(fd,), name="windlass lifeline", daemon=True)
    watcher.start()
    voice = Voice(fd)
    logging.getLogger().addHandler(Forward(voice))
    try:
        _serve(voice)
    except OSError:  # a handler closed what was not its own: no thread that it left may keep us here, unheard
        traceback.print_exc()
        os._exit(1)


def _serve(voice: Voice) -> None:
    while True:
        try:
            order: Order = voice.next_order()
        except EOFError:
            return
        relay = voice.relay()
        word = _run(order, voice, relay)
        if voice.copied:
            _end_copy(word)
        relay.close()
        voice.tell("word", word)


def _end_copy(word: Word) -> NoReturn:
    """The handler forked, and has returned in the copy too: it is for the original to go on."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(0 if word.verb == "complete" else 1)


def _die_with_worker(fd: int) -> None:
    """Whoever runs on without a worker runs without a lease: end at once, and all that was started here."""
    hangup = select.poll()
    hangup.register(fd, getattr(select, "POLLRDHUP", select.POLLHUP))
    hangup.poll()
    os.killpg(0, signal.SIGKILL)


def _run(order: Order, voice: Voice, relay: Relay) -> Word:
    logging.getLogger().setLevel(order.log_level)
    follow(order.detours)
    start = time.monotonic()

    def now() -> datetime:
        return order.now + timedelta(seconds=time.monotonic() - start)

    job, limits = order.job, order.limits
    try:
        definition = _find(order.target, job.kind)
    except BaseException as error:  # whatever the module raised as it was imported
        word = word_for_error(job, error, limits)
    else:
        context = JobContext(
            job,
            order.worker_id,
            max_result_bytes=limits.result_bytes,
            results=definition.results,
            on_finish=relay.finishing,
            record=relay.record,
            prepared=order.prepared,
        )
        voice.tell("begun")
        with running_job(order.worker_id, job):
            word = run_sync(definition, job, context, limits, now)
    word.exception = None  # what it holds may not travel between processes; its text is in the word
    return word


@functools.cache
def _find(target: Target, kind: str) -> JobDefinition:
    with reading_main_program() if target.is_main else nullcontext():
        found: Any = _module(target.module, target.path)
    for name in target.qualname.split("."):
        found = getattr(found, name)
    definition = getattr(found, "definition", None)
    if isinstance(definition, JobDefinition):
        return definition
    if not callable(found):
        raise UnknownKind(f"{target.module}.{target.qualname} is no handler", kind=kind)
    return JobDefinition.from_function(found, kind=kind)


@functools.cache
def _module(module: str, path: str | None) -> Any:
    if path is None:
        return importlib.import_module(module)
    names: Mapping[str, Any] = runpy.run_path(path, run_name="__windlass_main__")
    return SimpleNamespace(**names)
