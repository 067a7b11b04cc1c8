"""Which pictures there are, and what they show."""

from collections.abc import Callable, Mapping

from bench.report.figures import shown
from bench.report.svg import Bar, Curve, Panel, bar_chart, curve_chart
from bench.results import Results
from bench.workloads.registry import WORKLOADS

__all__ = ["PICTURES"]


def throughput(results: Results) -> str | None:
    panels = [_panel(results, name, "rate") for name in ("W1", "W2", "clients", "clients-apart", "W3", "W3b")]
    found = [panel for panel in panels if panel is not None]
    return bar_chart("Jobs per second", found, peers_of(results)) if found else None


def pickup(results: Results) -> str | None:
    panels = [_panel(results, "W4", figure) for figure in ("p50", "p99")]
    found = [panel for panel in panels if panel is not None]
    return bar_chart("From enqueue to handler, idle worker", found, peers_of(results)) if found else None


def snapshot(results: Results) -> str | None:
    curves = [
        Curve(name, points)
        for name in results.system_names()
        if (points := _median_curve(results, "W6", name))
    ]
    if control := _median_curve(results, "W6c", "windlass"):
        curves.append(Curve("windlass (control)", control))
    if not curves:
        return None
    title = "Jobs per second while another session holds a snapshot"
    return curve_chart(title, "jobs/s", curves, peers_of(results))


def peers_of(results: Results) -> list[str]:
    return [name for name in results.system_names() if not name.startswith(("windlass", "floor"))]


def _panel(results: Results, workload: str, figure: str) -> Panel | None:
    lower = WORKLOADS[workload].lower
    bars = []
    for name in results.system_names():
        spread = results.figure(workload, name, figure)
        if spread is not None:
            apart = f" ±{spread.half_range:.0%}" if spread.runs > 1 else ""
            bars.append(Bar(name, spread.median, shown(spread) + apart))
    if not bars:
        return None
    bars.sort(key=lambda bar: bar.value, reverse=not lower)
    title = f"{workload}  {WORKLOADS[workload].title}" + (f", {figure}" if lower else "")
    count = len(results.together(workload))
    title += f" (median of {count} runs)" if count > 1 else ""
    unit = WORKLOADS[workload].unit
    return Panel(title, f"{unit}, {'less' if lower else 'more'} is better", bars)


def _median_curve(results: Results, workload: str, system: str) -> list[tuple[float, float]]:
    """The run in the middle, by its mean rate: a curve of medians would be nobody's."""
    runs = [one for one in results.chosen(workload, system) if one.curve]
    if not runs:
        return []
    runs.sort(key=lambda one: one.figures["mean"])
    return [(point[0], point[1]) for point in runs[len(runs) // 2].curve]


PICTURES: Mapping[str, Callable[[Results], str | None]] = {
    "throughput.svg": throughput,
    "pickup.svg": pickup,
    "snapshot.svg": snapshot,
}
