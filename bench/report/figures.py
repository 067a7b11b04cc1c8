"""How figures are written, the same on the terminal and in documents."""

from bench.results import Results
from bench.stats import Spread
from bench.workloads.registry import WORKLOADS

__all__ = ["headline", "runs", "shown", "shown_ratio"]


def shown(spread: Spread | None) -> str:
    """The median with three or so digits that matter."""
    if spread is None:
        return "–"
    value = spread.median
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}"


def shown_ratio(spread: Spread | None) -> str:
    return "–" if spread is None else f"{spread.median:.2f}"


def runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def headline(results: Results, workload: str, system: str) -> str:
    """The median, and how far the runs were apart."""
    spread = results.figure(workload, system, WORKLOADS[workload].headline)
    if spread is None:
        return "–"
    apart = f" ±{spread.half_range:.0%}" if spread.runs > 1 else ""
    return shown(spread) + apart
