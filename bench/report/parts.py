"""The generated parts of docs/performance.md."""

from collections.abc import Callable, Mapping, Sequence

from bench.goals import BEST, GOALS, reached
from bench.report.environment import environment, unmeasured
from bench.report.figures import headline, runs, shown, shown_ratio
from bench.report.markdown import one_line, table
from bench.results import Results
from bench.workloads.registry import WORKLOADS

__all__ = ["PARTS"]

TITLES = {
    "throughput.svg": "jobs per second, by workload and system",
    "pickup.svg": "time from enqueue to handler on an idle worker",
    "snapshot.svg": "jobs per second over time while a snapshot is held",
}
FEATURES = "feature-"
HELD = "W6"
NOT_MEASURED = "Not measured in this run."
COMPARED = ("W1", "W2", "clients", "clients-apart", "W3", "W3b", "W4", "W5")


def compared(results: Results, pictures: Sequence[str]) -> str:
    """A row per system and a column per workload; what is missing is named."""
    names = [name for name in COMPARED if name in results.workload_names()]
    titles = ("system", *(_column(results, name) for name in names))
    rows = []
    for system in results.system_names():
        cells = [headline(results, name, system) for name in names]
        if any(cell != "–" for cell in cells):
            rows.append((system, *cells))
    gone = [f"{name} ({reason})" for name, reason in unmeasured(results)]
    missing = f"\n\nNot measured: {', '.join(gone)}." if gone else ""
    return table(titles, rows) + missing


def _column(results: Results, name: str) -> str:
    return f"{name} {WORKLOADS[name].headline}, {WORKLOADS[name].unit} ({runs(len(results.together(name)))})"


def goals(results: Results, pictures: Sequence[str]) -> str:
    """What had to be reached or was aimed for, and what came of it, misses included."""
    rows = []
    for goal in GOALS:
        bound = f"{'≥' if goal.least else '≤'} {goal.bound:g}"
        found = reached(results, goal)
        what = goal.what + (f" ({goal.note})" if goal.note else "")
        kind = "aim" if goal.aim else "must"
        if found is None:
            rows.append((goal.workload, what, kind, bound, "not measured", ""))
            continue
        spread, against, enough = found
        apart = f"{spread.low:.2f} to {spread.high:.2f}, " if spread.runs > 1 else ""
        who = f", {against}" if goal.system == BEST else ""
        word = "yes" if enough else "**no**"
        rows.append(
            (
                goal.workload,
                what + who,
                kind,
                bound,
                f"{spread.median:.2f} ({apart}{runs(spread.runs)})",
                word,
            )
        )
    return table(("workload", "what", "kind", "bound", "measured", "reached"), rows)


def held(results: Results, pictures: Sequence[str]) -> str:
    """The rates behind W6 and its controls: a ratio of two slow windows is a good ratio, too."""
    rows = []
    for name in results.workload_names():
        if not name.startswith(HELD):
            continue
        for system in results.system_names():
            rates = [results.figure(name, system, figure) for figure in ("first", "last", "mean")]
            if any(rates):
                dead = shown(results.figure(name, system, "dead_rows"))
                count = str(len(results.chosen(name, system)))
                rows.append((name, system, *map(shown, rates), headline(results, name, system), dead, count))
    titles = (
        "workload",
        "system",
        "seconds 2 to 12, jobs/s",
        "last ten seconds, jobs/s",
        "mean, jobs/s",
        "last ÷ first",
        "dead rows at the end",
        "runs",
    )
    return table(titles, rows) if rows else NOT_MEASURED


def more(results: Results, pictures: Sequence[str]) -> str:
    """The workloads that only Windlass can do, with all of their figures."""
    rows = []
    for name in results.workload_names():
        workload = WORKLOADS[name]
        if name in COMPARED or name.startswith((FEATURES, HELD)) or not results.of(name, "windlass"):
            continue
        also = ", ".join(
            f"{figure} {shown(results.figure(name, 'windlass', figure))}" for figure in workload.also
        )
        ratio = results.ratio("rate", (name, "windlass"), ("W3", "windlass"))
        rows.append(
            (
                name,
                workload.title,
                f"{headline(results, name, 'windlass')} {workload.unit}",
                shown_ratio(ratio),
                also,
                str(len(results.chosen(name, "windlass"))),
            )
        )
    return table(("workload", "what", "measured", "÷ W3", "also", "runs"), rows) if rows else NOT_MEASURED


def costs(results: Results, pictures: Sequence[str]) -> str:
    """Processor time on each side, and log bytes."""
    rows = []
    for name in ("W1", "W2", "W3", "W3b", "W6", "tenants-1000", "tenants-10000", "io"):
        for system in results.system_names():
            found = [results.cost(name, system, cost) for cost in ("worker_us", "database_us", "wal_bytes")]
            if any(found):
                rows.append((name, system, *(shown(cost) for cost in found)))
    titles = (
        "workload",
        "system",
        "client or worker, µs per job",
        "database, µs per job",
        "WAL bytes per job",
    )
    return table(titles, rows)


def features(results: Results, pictures: Sequence[str]) -> str:
    """What one feature of a handler costs, against a plain handler in the same repetition."""
    rows = []
    for name in results.workload_names():
        if name.startswith(FEATURES):
            ratio = results.ratio("rate", (name, "windlass"), (f"{FEATURES}plain", "windlass"))
            costs = [
                results.cost(name, "windlass", cost) for cost in ("worker_us", "database_us", "wal_bytes")
            ]
            rate = headline(results, name, "windlass")
            title = WORKLOADS[name].title.partition(": ")[2]
            count = str(len(results.chosen(name, "windlass")))
            rows.append((title, rate, shown_ratio(ratio), *(shown(cost) for cost in costs), count))
    titles = (
        "handler",
        "jobs/s",
        "÷ plain",
        "worker, µs per job",
        "database, µs per job",
        "WAL bytes per job",
        "runs",
    )
    return table(titles, rows) if rows else NOT_MEASURED


def pictures_of(results: Results, pictures: Sequence[str]) -> str:
    return "\n\n".join(f"![{TITLES[name]}](images/{name})" for name in pictures)


def failures(results: Results, pictures: Sequence[str]) -> str:
    """Runs that gave no figure."""
    rows = [(one.workload, one.system, str(one.rep + 1), one_line(one.error)) for one in results.failures()]
    return table(("workload", "system", "repetition", "why"), rows) if rows else "None."


PARTS: Mapping[str, Callable[[Results, Sequence[str]], str]] = {
    "environment": environment,
    "compared": compared,
    "goals": goals,
    "held": held,
    "more": more,
    "costs": costs,
    "features": features,
    "pictures": pictures_of,
    "failures": failures,
}
