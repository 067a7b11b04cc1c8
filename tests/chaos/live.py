"""The run as it happens, on a terminal; one line per ten seconds elsewhere."""

import sys
import time
from typing import TextIO

from tests.chaos.runner import Status

__all__ = ["Live"]


class Live:
    """Called with each status; draws over its own lines where it can."""

    def __init__(self, jobs: int, stream: TextIO | None = None) -> None:
        self._jobs = jobs
        self._stream = sys.stderr if stream is None else stream
        self._draws = self._stream.isatty()
        self._drawn_at = 0.0
        self._last: tuple[float, int] = (0.0, 0)
        self._rate = 0.0

    def __call__(self, status: Status) -> None:
        now = time.monotonic()
        if now - self._drawn_at < (0.5 if self._draws else 10.0):
            return
        self._drawn_at = now
        before, ended = self._last
        if now - before > 0:
            self._rate = (status.ended - ended) / (now - before) if before else 0.0
        self._last = (now, status.ended)
        self._stream.write(f"\r\x1b[2K{self.line(status)}" if self._draws else f"{self.line(status)}\n")
        self._stream.flush()

    def line(self, status: Status) -> str:
        filled = round(20 * min(status.asked / max(self._jobs, 1), 1.0))
        bar = "█" * filled + "·" * (20 - filled)
        faults = ", ".join(status.active) or "no fault"
        return (
            f"{status.phase:<7}{status.seconds:6.0f} s {bar} {status.asked:,} asked, {status.ended:,} ended, "
            f"{self._rate:,.0f}/s, {status.workers} workers, {status.started} faults: {faults}"
        )

    def close(self) -> None:
        if self._draws:
            self._stream.write("\n")
            self._stream.flush()
