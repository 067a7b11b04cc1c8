"""Pictures, written by hand: bars for each workload, and curves over time.

They stand on light and on dark pages, and say everything in text as well, for those who do not see colors.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Bar", "Curve", "Panel", "bar_chart", "curve_chart"]

WIDTH = 760
NAME_WIDTH, VALUE_WIDTH = 140, 110
BAR_HEIGHT, GAP = 18, 6
PLOT_LEFT, PLOT_TOP, PLOT_HEIGHT, LEGEND_WIDTH = 70, 44, 300, 150

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; font-size: 13px; }
  .faint { fill: #6e7781; }
  .own { fill: #0f766e; stroke: #0f766e; }
  .floor { fill: #8c959f; stroke: #8c959f; }
  .c0 { fill: #4263eb; stroke: #4263eb; }
  .c1 { fill: #d9480f; stroke: #d9480f; }
  .c2 { fill: #9c36b5; stroke: #9c36b5; }
  .c3 { fill: #e0a800; stroke: #e0a800; }
  .c4 { fill: #1971c2; stroke: #1971c2; }
  .c5 { fill: #a61e4d; stroke: #a61e4d; }
  .line { fill: none; stroke-width: 2; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .faint { fill: #9198a1; }
    .own { fill: #2dd4bf; stroke: #2dd4bf; }
    .grid { stroke: #30363d; }
  }
"""


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One workload's bars; `better` says which way is good."""

    title: str
    better: str
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class Curve:
    name: str
    points: Sequence[tuple[float, float]]


def color_class(name: str, peers: Sequence[str]) -> str:
    """Ours, the floor's, or one of the peers', the same in every picture of a run."""
    if name.startswith("windlass"):
        return "own"
    if name.startswith("floor"):
        return "floor"
    return f"c{list(peers).index(name) % 6}"


def bar_chart(title: str, panels: Sequence[Panel], peers: Sequence[str]) -> str:
    parts: list[str] = []
    y = 30
    for panel in panels:
        parts.append(_text(0, y, f"{panel.title}", "title") + _text(WIDTH, y, panel.better, "faint", "end"))
        y += 12
        most = max((bar.value for bar in panel.bars), default=1.0) or 1.0
        for bar in panel.bars:
            room = WIDTH - NAME_WIDTH - VALUE_WIDTH
            length = max(1.0, room * bar.value / most)
            middle = y + BAR_HEIGHT - 5
            parts.append(_text(NAME_WIDTH - 8, middle, bar.name, anchor="end"))
            kind = color_class(bar.name, peers)
            place = f'x="{NAME_WIDTH}" y="{y}" width="{length:.1f}" height="{BAR_HEIGHT}"'
            parts.append(f'<rect class="{kind}" {place} rx="2"/>')
            parts.append(_text(NAME_WIDTH + length + 6, middle, bar.label))
            y += BAR_HEIGHT + GAP
        y += 26
    return _document(title, y, parts)


def curve_chart(title: str, unit: str, curves: Sequence[Curve], peers: Sequence[str]) -> str:
    """Lines over seconds."""
    right = WIDTH - LEGEND_WIDTH
    top = _round_up(max((value for curve in curves for _, value in curve.points), default=1.0) or 1.0)
    longest = max((at for curve in curves for at, _ in curve.points), default=1.0) or 1.0
    bottom = PLOT_TOP + PLOT_HEIGHT
    parts = [_text(0, 20, title, "title"), _text(PLOT_LEFT - 8, PLOT_TOP - 10, unit, "faint", "end")]
    for step in range(5):
        value = top * step / 4
        y = bottom - PLOT_HEIGHT * step / 4
        parts.append(f'<line class="grid" x1="{PLOT_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(PLOT_LEFT - 8, y + 4, f"{value:,.0f}", "faint", "end"))
        x = PLOT_LEFT + (right - PLOT_LEFT) * step / 4
        parts.append(_text(x, bottom + 18, f"{longest * step / 4:.0f} s", "faint", "middle"))
    ends = []
    for curve in curves:
        places = [
            (PLOT_LEFT + (right - PLOT_LEFT) * at / longest, bottom - PLOT_HEIGHT * value / top)
            for at, value in curve.points
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        kind = color_class(curve.name, peers)
        dash = ' stroke-dasharray="5 4"' if curve.name.endswith("(control)") else ""
        parts.append(f'<polyline class="line {kind}" style="fill:none"{dash} points="{line}"/>')
        ends.append((places[-1][1], curve.name))
    parts += _legend(ends, right + 8)
    return _document(title, bottom + 34, parts)


def _round_up(value: float) -> float:
    """The next of 1, 2, 4, 6, 8 times a power of ten: its quarters are round as well."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 6, 8, 10) if step * power >= value)


def _legend(ends: list[tuple[float, str]], x: float) -> list[str]:
    """Names at the ends of their lines, moved apart where they would lie on each other."""
    parts = []
    last = float("-inf")
    for y, name in sorted(ends):
        last = max(y + 4, last + 14)
        parts.append(_text(x, last, name))
    return parts


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(text)}</text>'


def _document(title: str, height: float, parts: Sequence[str]) -> str:
    body = "\n  ".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img"'
        f' width="{WIDTH}" height="{height:.0f}">\n'
        f"  <title>{escape(title)}</title>\n  <style>{STYLE}  </style>\n  {body}\n</svg>\n"
    )
