"""One self-contained page with a picture of the run: workers, faults, throughput and recoveries over time."""

import math
from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import Any, NamedTuple

from tests.chaos.runner import Result

__all__ = ["Span", "fault_spans", "render", "worker_spans"]

WIDTH, LEFT, ROW, CHART = 1100, 150, 20, 140

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1150px; padding: 0 1rem;
       color: #1c2733; background: #fff }
h1 { font-size: 1.5rem; margin: 0 } .kept { color: #14693a } .broken { color: #b3261e }
pre { background: #f4f6f8; padding: 1rem; overflow-x: auto; font-size: 13px; border-radius: 6px }
svg { width: 100%; height: auto } text { font: 12px system-ui, sans-serif; fill: #44525f }
.name { text-anchor: end } .grid { stroke: #e3e8ed } .worker { fill: #4f83c4 } .fault { fill: #d9822b }
.rate { fill: none; stroke: #14693a; stroke-width: 1.5 } .lost { fill: #b3261e } .healed { fill: #eef6f0 }
@media (prefers-color-scheme: dark) {
  body { color: #dfe6ec; background: #14191f } pre { background: #1d252d } text { fill: #aab7c3 }
  .kept { color: #6bd493 } .broken { color: #ff8a80 } .grid { stroke: #2b353f } .healed { fill: #18251d }
  .rate { stroke: #6bd493 } }
"""


class Span(NamedTuple):
    """Something that lasted; times are seconds since the run began."""

    row: str
    begin: float
    end: float
    text: str


def worker_spans(result: Result) -> list[Span]:
    """Each worker process from its start to its end, in the row of its place."""
    open_: dict[str, dict[str, Any]] = {}
    spans = []
    for event in result.events:
        if event["what"] == "worker":
            open_[event["name"]] = event
        elif event["what"] == "ended" and event["name"] in open_:
            began = open_.pop(event["name"])
            spans.append(
                _span(result, began["slot"], began, event, f"{event['name']}, process {event['pid']}")
            )
    return spans


def fault_spans(result: Result) -> list[Span]:
    open_: dict[str, dict[str, Any]] = {}
    spans = []
    for event in result.events:
        if event["what"] == "fault":
            open_[event["name"]] = event
        elif event["what"] == "healed" and event["name"] in open_:
            spans.append(_span(result, event["name"], open_.pop(event["name"]), event, event["text"]))
    return spans


def _span(result: Result, row: str, begin: dict[str, Any], end: dict[str, Any], text: str) -> Span:
    return Span(row, begin["wall"] - result.began, end["wall"] - result.began, text)


class Picture:
    """An SVG of fixed width that grows downwards."""

    def __init__(self, seconds: float) -> None:
        self._seconds = max(seconds, 1.0)
        self._parts: list[str] = []
        self._height = 10.0

    def x(self, moment: float) -> float:
        share = min(max(moment / self._seconds, 0.0), 1.0)
        return round(LEFT + share * (WIDTH - LEFT - 10), 1)

    def shade(self, begin: float) -> None:
        width = self.x(self._seconds) - self.x(begin)
        self._parts.append(
            f'<rect class="healed" x="{self.x(begin)}" y="0" width="{width:.1f}" height="100%"/>'
        )

    def rows(self, title: str, spans: list[Span], kind: str) -> None:
        self._title(title)
        for row in dict.fromkeys(span.row for span in spans):
            self._name(row, self._height + 12)
            for span in spans:
                if span.row == row:
                    self._parts.append(self._bar(span, kind))
            self._height += ROW

    def _bar(self, span: Span, kind: str) -> str:
        width = max(self.x(span.end) - self.x(span.begin), 2.0)
        tip = escape(f"{span.begin:.1f}–{span.end:.1f} s: {span.text}")
        place = f'x="{self.x(span.begin)}" y="{self._height}" width="{width:.1f}" height="14" rx="2"'
        return f'<rect class="{kind}" {place}><title>{tip}</title></rect>'

    def rate(self, title: str, moments: list[float], unit: float) -> None:
        """A line: how many per second, in steps of `unit` seconds."""
        self._title(title)
        counts = Counter(int(moment // unit) for moment in moments)
        steps = range(int(self._seconds // unit) + 1)
        peak = max(counts.values(), default=0) / unit or 1.0
        points = [
            f"{self.x(step * unit)},{self._height + CHART - CHART * counts[step] / unit / peak:.1f}"
            for step in steps
        ]
        self._name(f"{peak:,.0f}/s", self._height + 12)
        self._name("0", self._height + CHART)
        self._parts.append(f'<polyline class="rate" points="{" ".join(points)}"/>')
        self._height += CHART + 10

    def marks(self, title: str, moments: list[float]) -> None:
        """A dot for each group of moments; the more of them, the larger."""
        self._title(title)
        for x, number in sorted(Counter(round(self.x(moment) / 4) * 4 for moment in moments).items()):
            place = f'cx="{x}" cy="{self._height + 7}" r="{min(8.0, 1.5 + math.sqrt(number) / 2):.1f}"'
            self._parts.append(f'<circle class="lost" {place}><title>{number}</title></circle>')
        self._height += ROW

    def _title(self, text: str) -> None:
        self._height += 18
        self._parts.append(f'<text x="{LEFT}" y="{self._height}" font-weight="600">{escape(text)}</text>')
        self._height += 8

    def _name(self, text: str, y: float) -> None:
        self._parts.append(f'<text class="name" x="{LEFT - 8}" y="{y:.0f}">{escape(text)}</text>')

    def _axis(self) -> Iterator[str]:
        step = next(one for one in (1, 5, 10, 30, 60, 300, 600, 3600) if self._seconds / one <= 15)
        for moment in range(0, int(self._seconds) + 1, step):
            x = self.x(moment)
            yield f'<line class="grid" x1="{x}" y1="0" x2="{x}" y2="{self._height}"/>'
            yield f'<text x="{x}" y="{self._height + 16}" text-anchor="middle">{moment} s</text>'

    def svg(self) -> str:
        inside = "".join([*self._axis(), *self._parts])
        box = f'viewBox="0 0 {WIDTH} {self._height + 24:.0f}"'
        return f'<svg {box} role="img" aria-label="Workers, faults and throughput over time">{inside}</svg>'


def render(result: Result, text: str) -> str:
    """The whole page."""
    whole = result.phases["faults"] + result.phases["healed"]
    picture = Picture(whole)
    picture.shade(result.phases["faults"])
    picture.rate("Attempts that ended, per second", [at for at, _ in result.ends], max(whole / 400, 0.25))
    picture.marks(
        "Leases that ran out and were recovered", [at for at, outcome in result.ends if outcome == "crashed"]
    )
    picture.rows("Faults", sorted(fault_spans(result)), "fault")
    picture.rows("Workers, each bar one process", sorted(worker_spans(result)), "worker")
    verdict = ("kept", "Every promise was kept") if result.kept else ("broken", "A promise was broken")
    title = f"Chaos run {result.plan.seed}: {verdict[1].lower()}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f'<h1 class="{verdict[0]}">{verdict[1]}</h1>'
        f"<p>Everything to the right of the shaded edge happened after all faults were healed. "
        f"Point at a bar to read what it was.</p>{picture.svg()}<pre>{escape(text)}</pre></html>\n"
    )
