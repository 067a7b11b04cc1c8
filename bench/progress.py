"""A sign of life on standard error: one line that changes on a terminal, a line per measurement elsewhere."""

import shutil
import sys
import time

__all__ = ["Progress"]


class Progress:
    """`step` begins a measurement, `detail` says how far it is, `done` what it found."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._number = 0
        self._title = ""
        self._began = time.monotonic()
        self._shown_at = 0.0
        self._live = sys.stderr.isatty()

    def step(self, title: str) -> None:
        self._number += 1
        self._title = title
        self._show("")

    def detail(self, text: str) -> None:
        if self._live and time.monotonic() - self._shown_at > 0.1:
            self._show(text)

    def done(self, text: str) -> None:
        line = f"[{self._number}/{self._total}] {self._title}: {text}"
        sys.stderr.write(("\r\x1b[K" if self._live else "") + line + "\n")
        sys.stderr.flush()

    def _show(self, text: str) -> None:
        if not self._live:
            return
        self._shown_at = time.monotonic()
        minutes, seconds = divmod(int(self._shown_at - self._began), 60)
        line = f"[{self._number}/{self._total}] {minutes}:{seconds:02} {self._title}  {text}"
        sys.stderr.write("\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()
