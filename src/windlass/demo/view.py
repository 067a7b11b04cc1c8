"""What the demo shows: a story in lines, and on a terminal a board below it that keeps up with the jobs."""

import sys
import time
from types import TracebackType
from typing import Protocol, Self, TextIO

from windlass.demo.tally import Tally

__all__ = ["PlainView", "View", "open_view"]

_EVERY_SECONDS = 2.0


class View(Protocol):
    """Where the story is told."""

    def scene(self, title: str, why: str) -> None:
        """Begin another part of it."""

    def say(self, text: str) -> None:
        """One thing that the story needs."""

    def note(self, text: str) -> None:
        """One thing that happened beside it."""

    def overhear(self, text: str) -> None:
        """A passing detail, for a board that has room for it."""

    def show(self, tally: Tally) -> None:
        """How the jobs stand now."""

    def table(self, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
        """Numbers, the first column for names."""

    def verdict(self, passed: bool, text: str) -> None:
        """One check and what came of it."""

    def text(self, text: str = "") -> None:
        """A line as it is."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_view(stream: TextIO | None = None, *, plain: bool = False) -> View:
    """The board, if there is a terminal that can show one and the library that draws it; else lines."""
    out = sys.stdout if stream is None else stream
    if not plain and out.isatty():
        try:
            from windlass.demo.board import LiveView
        except ImportError:
            return PlainView(out)
        return LiveView.on(out) or PlainView(out)
    return PlainView(out)


class PlainView:
    """Lines without any control codes: for a log, a pipe, a simple terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._since = time.monotonic()
        self._scenes = 0
        self._shown = ""
        self._next_show = 0.0

    def scene(self, title: str, why: str) -> None:
        self._scenes += 1
        self.text(f"\n{self._scenes}. {title}\n   {why}")
        self._next_show = time.monotonic() + _EVERY_SECONDS

    def say(self, text: str) -> None:
        self.text(f"{time.monotonic() - self._since:7.1f} s  {text}")

    def note(self, text: str) -> None:
        self.say(f"({text})")

    def overhear(self, text: str) -> None:
        """Left out: there are too many of them."""

    def show(self, tally: Tally) -> None:
        """Now and then, and only what is new: a log is not a screen."""
        words = tally.in_words()
        if words != self._shown and time.monotonic() >= self._next_show:
            self._shown, self._next_show = words, time.monotonic() + _EVERY_SECONDS
            self.say(words)

    def table(self, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        for first, *others in (header, *rows):
            cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
            self.text("   " + "  ".join([first.ljust(widths[0]), *cells]))

    def verdict(self, passed: bool, text: str) -> None:
        self.text(f"   {'ok  ' if passed else 'FAIL'}  {text}")

    def text(self, text: str = "") -> None:
        print(text, file=self._stream, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held open."""
