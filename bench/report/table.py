"""Results on the terminal."""

from collections.abc import Sequence

from bench.peers.catalog import PEERS
from bench.report.figures import headline, shown, shown_ratio
from bench.results import Results
from bench.systems.system import System
from bench.thresholds import Verdict
from bench.workloads.registry import WORKLOADS

__all__ = ["print_list", "print_results", "print_verdicts"]


def print_list(own: Sequence[System]) -> None:
    print("workloads")
    for workload in WORKLOADS.values():
        print(f"  {workload.name:<14} {workload.title}" + ("" if workload.core else "  (--all or --only)"))
    print("\nsystems")
    for system in own:
        print(f"  {system.name:<16} {system.settings}")
    for peer in PEERS.values():
        print(f"  {peer.name:<16} {peer.words}  (--peers or --systems; from {peer.source})")


def print_results(results: Results) -> None:
    for name in results.workload_names():
        workload = WORKLOADS[name]
        print(f"\n{name}  {workload.title}{_scaled(results)}")
        rows = [["system", f"{workload.headline} ({workload.unit})", "÷ floor", *workload.also, *_COSTS]]
        rows += [_row(results, name, system) for system in results.system_names() if results.of(name, system)]
        _print_aligned(rows)
    for one in results.failures():
        print(f"\nFAILED  {one.workload} {one.system} (repetition {one.rep + 1}): {one.error}")
    for gone in results.absent:
        print(f"\nabsent  {gone['name']}: {gone['reason']}")


def _scaled(results: Results) -> str:
    """Titles tell the sizes of scale 1."""
    scale = results.options["scale"]
    return "" if scale == 1 else f"  (sizes and lengths times {scale:g})"


_COSTS = ("worker µs/job", "database µs/job", "WAL B/job")


def _row(results: Results, name: str, system: str) -> list[str]:
    workload = WORKLOADS[name]
    also = [shown(results.figure(name, system, figure)) for figure in workload.also]
    costs = [shown(results.cost(name, system, cost)) for cost in ("worker_us", "database_us", "wal_bytes")]
    ratio = results.ratio(workload.headline, (name, system), (name, "floor"))
    return [system, headline(results, name, system), shown_ratio(ratio), *also, *costs]


def print_verdicts(verdicts: Sequence[Verdict]) -> None:
    print("\nagainst the thresholds of the quick lane")
    for verdict in verdicts:
        rule = verdict.threshold
        bound = f"≥ {rule.least:g}" if rule.least is not None else f"≤ {rule.most:g}"
        found = "not measured" if verdict.ratio is None else f"{verdict.ratio:.2f}"
        what = rule.against or "floor"
        word = "ok  " if verdict.passed else "FAIL"
        print(f"  {word}  {rule.workload} {rule.figure} ÷ {what}: {found} ({bound})")


def _print_aligned(rows: list[list[str]]) -> None:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for first, *others in rows:
        cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        print("  " + "  ".join([first.ljust(widths[0]), *cells]))
