"""The live board: jobs by tenant and state, the workers, and what happened last."""

import time
from collections import deque
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from windlass.demo.tally import COLUMNS, Tally

__all__ = ["LiveView"]

_KEPT_NOTES = 4
_BAR_WIDTH = 22
_NARROW = 84
_ALL_STATES = 80
"""Columns of a terminal below which the states of waiting jobs are shown as one."""
_WAITING = ("queued", "scheduled", "retrying")
_STYLES = {
    "waiting": "default",
    "queued": "default",
    "scheduled": "cyan",
    "retrying": "yellow",
    "running": "blue",
    "succeeded": "green",
    "dead": "red",
    "canceled": "magenta",
}


class LiveView:
    """The story scrolls by above, the board stays below it and is gone at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._since = time.monotonic()
        self._scenes = 0
        self._tally = Tally()
        self._notes: deque[str] = deque(maxlen=_KEPT_NOTES)
        self._live = Live(console=console, auto_refresh=False, transient=True)

    @classmethod
    def on(cls, stream: TextIO) -> Self | None:
        """None if the terminal cannot move its cursor or does not know our letters."""
        console = Console(file=stream, highlight=False)
        able = console.is_terminal and not console.is_dumb_terminal and console.encoding.startswith("utf")
        return cls(console) if able else None

    def scene(self, title: str, why: str) -> None:
        self._scenes += 1
        self._console.print(f"\n[bold]{self._scenes}. {escape(title)}[/bold]\n   [dim]{escape(why)}[/dim]")
        self._refresh()

    def say(self, text: str) -> None:
        self._console.print(f"[dim]{self._elapsed():7.1f} s[/dim]  {escape(text)}")

    def note(self, text: str) -> None:
        self.overhear(text)
        self._refresh()

    def overhear(self, text: str) -> None:
        self._notes.append(f"{self._elapsed():7.1f} s  {text}")  # shown with the next look

    def show(self, tally: Tally) -> None:
        self._tally = tally
        self._refresh()

    def table(self, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
        table = _table()
        table.add_column(header[0])
        for name in header[1:]:
            table.add_column(name, justify="right", style=_STYLES.get(name, "default"))
        for row in rows:
            table.add_row(*row)
        self._console.print(Padding(table, (0, 0, 0, 3), expand=False))

    def verdict(self, passed: bool, text: str) -> None:
        mark = "[green]✓[/green]" if passed else "[bold red]✗ FAIL[/bold red]"
        self._console.print(f"   {mark} {escape(text)}")

    def text(self, text: str = "") -> None:
        self._console.print(escape(text))

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def _elapsed(self) -> float:
        return time.monotonic() - self._since

    def _refresh(self) -> None:
        if self._live.is_started:
            self._live.update(self._draw(), refresh=True)

    def _draw(self) -> RenderableType:
        parts: list[RenderableType] = [Text()]
        if self._tally.jobs:
            parts += [self._draw_jobs(), self._draw_nodes()]
        parts += [Text(note, style="dim", overflow="ellipsis", no_wrap=True) for note in self._notes]
        return Group(*parts)

    def _draw_jobs(self) -> RenderableType:
        table, shown = _table(), _columns(self._console.width)
        table.add_column("tenant")
        for name in shown:
            table.add_column(name, justify="right", style=_STYLES[name])
        wide = self._console.width >= _NARROW + _BAR_WIDTH
        if wide:
            table.add_column("ended", width=_BAR_WIDTH)
        for tenant, jobs in self._tally.jobs.items():
            states = self._tally.states(tenant)
            bar = ProgressBar(max(1, len(jobs)), self._tally.ended(tenant), width=_BAR_WIDTH)
            counts = (sum(states[state] for state in counted) for counted in shown.values())
            table.add_row(tenant, *(str(count or "·") for count in counts), *([bar] if wide else []))
        return table

    def _draw_nodes(self) -> RenderableType:
        line = Text(overflow="ellipsis", no_wrap=True)
        for node in self._tally.nodes:
            alive = node.pid in self._tally.alive
            slots = "▮" * node.running + "▯" * (node.concurrency - node.running)
            text = f"{node.name} {'pid' if alive else 'dead, was'} {node.pid} {slots}   "
            line.append(text, style="cyan" if alive else "red")
        return line


def _columns(width: int) -> dict[str, tuple[str, ...]]:
    """Which states each column counts."""
    every: dict[str, tuple[str, ...]] = {name: (name,) for name in COLUMNS}
    if width >= _ALL_STATES:
        return every
    return {"waiting": _WAITING, **{name: states for name, states in every.items() if name not in _WAITING}}


def _table() -> Table:
    return Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
