"""Files of JSON lines: each is appended whole, so that any number of processes may write and die."""

import functools
import itertools
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from windlass.errors import Unavailable, WindlassError

__all__ = ["Recorder", "append", "append_synced", "read"]


def append(path: Path | str, **record: Any) -> None:
    """Add one line; O_APPEND keeps lines of several processes apart."""
    os.write(_opened(str(path), os.getpid()), _line(record))


def append_synced(path: Path | str, **record: Any) -> None:
    """Add one line that outlives whatever happens next, to this process and to the machine."""
    file = _opened(str(path), os.getpid())
    os.write(file, _line(record))
    os.fsync(file)


@functools.cache
def _opened(path: str, _pid: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _line(record: dict[str, Any]) -> bytes:
    stamped = {**record, "mono": time.monotonic(), "wall": time.time()}
    return json.dumps(stamped, default=str, separators=(",", ":")).encode() + b"\n"


def read(path: Path | str) -> Iterator[dict[str, Any]]:
    """The lines that were written to their end."""
    try:
        whole = Path(path).read_bytes()
    except FileNotFoundError:
        return
    for line in whole.splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield json.loads(line)


class Recorder:
    """Notes each call before it is made, and afterwards how it was answered.

    `fail` means that it surely did not happen, `unknown` that nobody can say.
    """

    def __init__(self, path: Path, name: str = "") -> None:
        self._path = path
        self._name = f"{name or os.getpid()}-{time.monotonic_ns()}"
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    @contextmanager
    def call(self, verb: str, jobs: Iterable[dict[str, Any]]) -> Iterator[None]:
        """A call inside the block; its error, if it has one, goes on to the caller."""
        with self._lock:
            call = f"{self._name}-{next(self._numbers)}"
        append(self._path, call=call, step="invoke", verb=verb, jobs=list(jobs))
        try:
            yield
        except Unavailable as error:
            append(self._path, call=call, step="unknown", error=str(error))
            raise
        except WindlassError as error:
            append(self._path, call=call, step="fail", error=str(error), code=error.code)
            raise
        except BaseException as error:
            append(self._path, call=call, step="unknown", error=repr(error))
            raise
        append(self._path, call=call, step="ok")
