"""The worker process, seen from the command."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from windlass.errors import Unavailable

__all__ = ["BenchWorker"]

_START_SECONDS = 60.0
_STALL_SECONDS = 60.0


class BenchWorker:
    """One process with a worker in it; use as `with`.  It ends when its standard input closes."""

    def __init__(self, database_url: str, concurrency: int) -> None:
        self.starts: dict[int, int] = {}
        """When each job's handler first began, in nanoseconds of the monotonic clock."""
        self.repeats = 0
        self._ready = threading.Event()
        environment = {
            **os.environ,
            "WINDLASS_DATABASE_URL": database_url,
            "WINDLASS_CONCURRENCY": str(concurrency),
            "WINDLASS_NODE_NAME": "windlass-bench",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "windlass.cli.bench.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        self._reading = threading.Thread(target=self._read, name="windlass bench", daemon=True)
        self._reading.start()

    def await_ready(self) -> None:
        if not self._ready.wait(_START_SECONDS) or self._process.poll() is not None:
            raise Unavailable("the worker process of the bench did not start; its reason is above")

    def await_handled(self, count: int, look: Callable[[int], None]) -> None:
        """Wait until the handlers of so many jobs began; Unavailable if they stop coming."""
        last, moved_at = -1, time.monotonic()
        while (now := len(self.starts)) < count:
            if now != last:
                last, moved_at = now, time.monotonic()
                look(now)
            if self._process.poll() is not None:
                raise Unavailable("the worker process of the bench ended; its reason is above")
            if time.monotonic() - moved_at > _STALL_SECONDS:
                raise Unavailable(
                    f"{now:,} of {count:,} jobs ran, and then none for {_STALL_SECONDS:g} seconds"
                )
            time.sleep(0.005)

    def _read(self) -> None:
        if self._process.stdout is None:
            return
        for line in self._process.stdout:
            said = json.loads(line)
            for number, at in said.get("starts", ()):
                self.repeats += number in self.starts
                self.starts.setdefault(number, at)
            if "ready" in said:
                self._ready.set()
        self._ready.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(15.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reading.join(5.0)
