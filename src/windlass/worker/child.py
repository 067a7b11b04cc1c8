"""The program of a child process: runs one handler after the other, until its worker is gone."""

import functools
import importlib
import logging
import logging.handlers
import os
import runpy
import select
import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import datetime, timedelta
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any

from windlass.client.detours import follow
from windlass.db.main_program import reading_main_program
from windlass.errors import UnknownKind
from windlass.telemetry import running_job
from windlass.worker.children import Order, Target
from windlass.worker.context import JobContext
from windlass.worker.costs import Entry
from windlass.worker.handler import run_sync
from windlass.worker.registry import JobDefinition
from windlass.worker.words import Word, word_for_error

__all__ = ["main"]


def main(fd: int) -> None:
    """Serve the worker at the other end of `fd`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.set_inheritable(fd, False)
    watcher = threading.Thread(target=_die_with_worker, args=(fd,), name="windlass lifeline", daemon=True)
    watcher.start()
    connection = Connection(fd)
    lock = threading.Lock()

    def tell(name: str, value: Any = None) -> None:
        with lock:
            connection.send((name, value))

    logging.getLogger().addHandler(_Forward(tell))
    while True:
        try:
            order: Order = connection.recv()
        except EOFError:
            return
        tell("taken")
        relay = Relay(tell, connection.recv)
        word = _run(order, tell, relay)
        relay.close()
        tell("word", word)


def _die_with_worker(fd: int) -> None:
    """Whoever runs on without a worker runs without a lease: end at once, and all that was started here."""
    hangup = select.poll()
    hangup.register(fd, getattr(select, "POLLRDHUP", select.POLLHUP))
    hangup.poll()
    os.killpg(0, signal.SIGKILL)


class Relay:
    """Has the worker enter costs, one at a time, and hears from it what became of each.

    Nobody else reads from the worker while a handler runs.  It is closed before the next order is read:
    a thread that outlived its handler comes too late.
    """

    def __init__(self, tell: Callable[[str, Any], None], hear: Callable[[], Any]) -> None:
        self._tell = tell
        self._hear = hear
        self._lock = threading.Lock()
        self._closed = False
        self._line: ThreadPoolExecutor | None = None

    def record(self, entry: Entry) -> None:
        with self._lock:
            if self._closed:
                entry.lose()
                return
            if self._line is None:
                self._line = ThreadPoolExecutor(1, thread_name_prefix="windlass costs")
            self._line.submit(self._exchange, entry)

    def _exchange(self, entry: Entry) -> None:
        self._tell("cost", (entry.cents, entry.what, entry.id_bytes))
        entry.answer(self._hear())

    def close(self) -> None:
        with self._lock:
            self._closed = True
        if self._line is not None:
            self._line.shutdown()


def _run(order: Order, tell: Any, relay: Relay) -> Word:
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
            on_finish=functools.partial(tell, "finishing"),
            record=relay.record,
            prepared=order.prepared,
        )
        tell("begun")
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


class _Forward(logging.handlers.QueueHandler):
    """Sends each record to the worker, where logging is set up."""

    def __init__(self, tell: Any) -> None:
        super().__init__(queue=None)  # type: ignore[arg-type]
        self._tell = tell

    def enqueue(self, record: logging.LogRecord) -> None:
        self._tell("log", record)
