"""The bench's own arithmetic: what it plans, what it counts as lost, and what it says about results."""

import base64
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree as ET

import pytest

from bench.drivers.protocol import Tally, payload_of
from bench.drivers.windlass import _by_tenant
from bench.files import load, merge, save
from bench.goals import GOALS, Goal, reached
from bench.options import command_line, parse
from bench.peers.catalog import PEERS
from bench.probe import Costs, cpu_seconds, resident_bytes
from bench.refusal import Refused
from bench.report.parts import PARTS
from bench.report.pictures import PICTURES
from bench.report.render import _MARKED, DOCUMENT, fill, render
from bench.results import Measurement, Results
from bench.runner import make_plan
from bench.server import _with
from bench.stats import quantile, summarize
from bench.systems.own import floors, windlass
from bench.thresholds import QUICK, QUICK_WORKLOADS, judge, judged, needs_floor
from bench.trial import JobsLost, Trial, WorkerReport
from bench.workloads.held import _rate
from bench.workloads.registry import WORKLOADS, choose

ROOT = Path(__file__).parents[2]


def measured(workload: str, system: str, rep: int = 0, **figures: float) -> Measurement:
    return Measurement(workload, system, rep, 1.0, figures, Costs(10.0, 20.0, 300.0))


def results_of(*measurements: Measurement) -> Results:
    names = dict.fromkeys(one.system for one in measurements)
    environment = {
        "at": "2030-01-31T09:00:00+00:00",
        "cpu": "Some CPU",
        "cores": 2,
        "memory_gib": 24.0,
        "system": "Linux",
        "python": "3.11",
        "node": None,
        "postgresql": "18.1",
        "server": "embedded",
        "settings": {"fsync": "on"},
        "file_system": "ext4",
        "fsync_us": 140,
        "load_before": 0.1,
        "revision": "abc",
    }
    systems = [{"name": name, "version": "1", "settings": "as it comes"} for name in names]
    options = {"reps": 1, "scale": 1.0, "seed": 1, "history": 10}
    absent = [{"name": "celery", "reason": "redis-server is not installed"}]
    return Results("./run bench", environment, options, systems, absent, measurements)


def test_each_repetition_has_every_pair_and_an_order_of_its_own() -> None:
    workloads = choose(["W2", "W3", "tenants-1000"], everything=False)
    plan = make_plan(workloads, [windlass(), *floors()], reps=6, seed=1)
    pairs = Counter((workload.name, system.name) for _, workload, system in plan)
    assert pairs == {
        ("W2", "windlass"): 6,
        ("W2", "floor"): 6,
        ("W3", "windlass"): 6,
        ("W3", "floor"): 6,
        ("W3", "floor-cursor"): 6,
        ("tenants-1000", "windlass"): 6,
    }
    assert [rep for rep, _, _ in plan] == sorted(rep for rep, _, _ in plan)
    orders = {
        tuple(system.name for at, workload, system in plan if at == rep and workload.name == "W3")
        for rep in range(6)
    }
    assert len(orders) > 1
    assert make_plan(workloads, [windlass()], 2, seed=5) == make_plan(workloads, [windlass()], 2, seed=5)


def test_workloads_are_chosen_by_name_or_as_the_core() -> None:
    assert [workload.name for workload in choose(["w6", "W1"], everything=False)] == ["W1", "W6"]
    core = [workload.name for workload in choose(None, everything=False)]
    assert core == ["W1", "W2", "clients", "clients-apart", "W3", "W3b", "W5", "W4", "W6", "W6c"]
    assert len(choose(None, everything=True)) == len(WORKLOADS)
    with pytest.raises(Refused, match="no workload 'w9'"):
        choose(["W9"], everything=False)


def test_every_workload_can_be_run_by_windlass() -> None:
    assert [name for name, workload in WORKLOADS.items() if not workload.needs <= windlass().can] == []


def test_the_tally_tells_which_handlers_ran() -> None:
    tally = Tally(4, starts=True)
    for number in (1, 3, 9, 3):
        tally.ran(number)
    report = WorkerReport.read(tally.report())
    assert report.handled == 4
    assert [number for number, mark in enumerate(report.seen) if mark] == [1, 3, 9]
    assert sorted(report.starts) == [1, 3, 9]
    assert report.first <= report.starts[1] <= report.starts[9]
    assert tally.has(3)
    assert not tally.has(2)
    assert 80 <= len(str(payload_of(123_456))) <= 140


def report_on(*numbers: int) -> WorkerReport:
    seen = bytes(number in numbers for number in range(max(numbers) + 1))
    said = {"handled": len(numbers), "first": 1, "starts": None, "seen": base64.b64encode(seen).decode()}
    return WorkerReport.read(said)


async def balance(*reports: WorkerReport, left: int = 0, done: int = 4, kept: int = 0) -> None:
    async def fetchval(query: str) -> int:
        return done if "attempt" in query else left

    nothing: Any = None
    trial = Trial(
        nothing, windlass(), nothing, 1.0, 1, lambda text: None, {}, SimpleNamespace(fetchval=fetchval)
    )
    await trial.balance(reports, 4, kept=kept)


async def test_a_run_that_balances_passes() -> None:
    await balance(report_on(0, 1, 2, 3))
    await balance(report_on(0, 3), report_on(1, 2), done=9, kept=5)


@pytest.mark.parametrize(
    ("reports", "left", "done", "why"),
    [
        ([report_on(0, 1, 3)], 0, 4, "1 of 4 jobs never reached a handler"),
        ([report_on(0, 1), report_on(1, 3)], 0, 4, "1 of 4 jobs never reached"),
        ([report_on(0, 1, 2, 3)], 2, 4, "not finished"),
        ([report_on(0, 1, 2, 3)], 0, 3, "records 3 succeeded jobs, not 4"),
        ([report_on(0, 1, 2, 3)], 0, 5, "records 5 succeeded jobs, not 4"),
    ],
)
async def test_a_run_that_loses_a_job_counts_for_nothing(
    reports: list[WorkerReport], left: int, done: int, why: str
) -> None:
    with pytest.raises(JobsLost, match=why):
        await balance(*reports, left=left, done=done)


def test_medians_and_spread() -> None:
    spread = summarize([10.0, 30.0, 20.0])
    assert (spread.median, spread.low, spread.high, spread.runs) == (20.0, 10.0, 30.0, 3)
    assert spread.half_range == pytest.approx(0.5)
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert quantile([5.0], 0.99) == 5.0
    with pytest.raises(ValueError, match="nothing"):
        quantile([], 0.5)


def test_a_rate_is_taken_between_the_counts_nearest_to_two_moments() -> None:
    counts = [(0.0, 0), (1.0, 100), (2.0, 300), (3.0, 600)]
    assert _rate(counts, 1.0, 3.0) == 250
    assert _rate(counts, 2.9, 3.1) == 0


def test_a_ratio_is_formed_within_a_repetition() -> None:
    results = results_of(
        measured("W3", "windlass", 0, rate=50.0),
        measured("W3", "windlass", 1, rate=10.0),
        measured("W3", "floor", 0, rate=100.0),
        measured("W3", "floor", 1, rate=20.0),
        Measurement("W3", "floor", 2, 1.0, error="JobsLost: one"),
    )
    spread = results.ratio("rate", ("W3", "windlass"), ("W3", "floor"))
    assert spread is not None
    assert (spread.low, spread.high, spread.runs) == (0.5, 0.5, 2)
    assert results.ratio("rate", ("W3", "windlass"), ("W3", "nobody")) is None
    assert [one.error for one in results.failures()] == ["JobsLost: one"]


# What docs/performance.md shows, and what a machine half as fast did: the lane must pass on both.
PUBLISHED = {"W1": 0.77, "W2": 0.69, "W3": 0.74, "W4": 0.48 / 0.20}
SLOW = {"W1": 0.78, "W2": 0.67, "W3": 0.71, "W4": 0.48 / 0.20}


def quick_results(ratios: dict[str, float], changed: str = "", factor: float = 1.0) -> Results:
    floor = [measured(name, "floor", rate=100.0, p50=1.0) for name in ratios]
    own = []
    for name, ratio in ratios.items():
        by = factor if name == changed else 1.0
        own.append(measured(name, "windlass", rate=100.0 * ratio * by, p50=ratio / by))
    ends = {"W6": 0.9 * (factor if changed == "W6" else 1.0), "W6c": 0.9}
    return results_of(*own, *floor, *(measured(name, "windlass", ratio=end) for name, end in ends.items()))


@pytest.mark.parametrize("ratios", [PUBLISHED, SLOW])
@pytest.mark.parametrize("changed", ["W1", "W2", "W3", "W4", "W6"])
def test_the_quick_lane_catches_what_halves_a_figure_and_lets_noise_pass(
    ratios: dict[str, float], changed: str
) -> None:
    assert all(verdict.passed for verdict in judge(quick_results(ratios)))
    assert all(verdict.passed for verdict in judge(quick_results(ratios, changed, 0.7)))
    slow = judge(quick_results(ratios, changed, 0.5))
    assert [verdict.threshold.workload for verdict in slow if not verdict.passed] == [changed]


def test_the_quick_lane_judges_what_was_chosen_and_fails_where_that_was_not_measured() -> None:
    assert [rule.workload for rule in judged(["W3", "W6"])] == ["W3"]
    assert [rule.workload for rule in judged(["W6", "W6c"])] == ["W6"]
    assert judged(["W5"]) == ()
    assert not any(verdict.passed for verdict in judge(results_of(measured("W5", "windlass", rate=1.0))))
    assert {threshold.workload for threshold in QUICK} <= set(QUICK_WORKLOADS)
    assert [name for name in QUICK_WORKLOADS if needs_floor(name)] == ["W1", "W2", "W3", "W4"]


def test_goals_say_what_was_missed_and_against_whom() -> None:
    results = results_of(
        measured("W1", "windlass", rate=90.0),
        measured("W1", "floor", rate=200.0),
        measured("W1", "pgqueuer", rate=100.0),
        measured("W1", "pg-boss", rate=50.0),
    )
    goal = next(goal for goal in GOALS if goal.what == "single enqueue, against the best peer")
    found = reached(results, goal)
    assert found is not None
    spread, against, enough = found
    assert (spread.median, against, enough) == (0.9, "pgqueuer (of pg-boss, pgqueuer)", False)
    assert {goal.workload for goal in GOALS} <= set(WORKLOADS)


def goal_of(workload: str, figure: str, **fields: object) -> Goal:
    (found,) = [
        goal
        for goal in GOALS
        if (goal.workload, goal.figure) == (workload, figure)
        and all(getattr(goal, name) == value for name, value in fields.items())
    ]
    return found


def held(workload: str, system: str, first: float, last: float, mean: float) -> Measurement:
    figures = {"first": first, "last": last, "ratio": last / first, "mean": mean, "dead_rows": 7.0}
    return measured(workload, system, 0, **figures)


@pytest.mark.parametrize("variant", ["", "-tenants", "-retries", "-late"])
def test_a_held_snapshot_is_judged_by_its_mean_and_its_end_too(variant: str) -> None:
    """A queue that is slow from its first second has no slope."""
    results = results_of(
        held(f"W6{variant}", "windlass", 100.0, 100.0, 100.0),
        held(f"W6c{variant}", "windlass", 1000.0, 900.0, 950.0),
        held("W6", "graphile-worker", 80.0, 25.0, 40.0),
    )
    slope, mean, end = (
        reached(results, goal_of(f"W6{variant}", figure, absolute=False))
        for figure in ("ratio", "mean", "last")
    )
    assert slope is not None
    assert slope[2]
    assert mean is not None
    assert not mean[2]
    assert end is not None
    assert (end[0].median, end[1], end[2]) == (4.0, "graphile-worker", False)


def test_history_is_judged_by_every_hot_path() -> None:
    results = results_of(
        measured("history", "windlass", rate=96.0, w1_rate=94.0, w2_rate=96.0, w4_p50=1.1, w4_p99=2.0),
        *(measured(name, "windlass", rate=100.0, p50=1.0, p99=2.0) for name in ("W1", "W2", "W3", "W4")),
    )
    found = {goal.other: reached(results, goal) for goal in GOALS if goal.workload == "history"}
    assert {other: one and one[2] for other, one in found.items()} == {
        "W1": False,
        "W2": True,
        "W3": True,
        "W4": False,
    }


def test_the_rates_of_held_snapshots_are_shown_for_every_system() -> None:
    table = PARTS["held"](
        results_of(
            held("W6", "windlass", 100.0, 90.0, 95.0),
            held("W6", "graphile-worker", 80.0, 25.0, 40.0),
            held("W6c", "windlass", 110.0, 99.0, 105.0),
        ),
        [],
    )
    assert "| W6 | windlass | 100 | 90.0 | 95.0 | 0.90 | 7.00 | 1 |" in table
    assert "| W6 | graphile-worker | 80.0 | 25.0 | 40.0 | 0.31 | 7.00 | 1 |" in table
    assert "| W6c | windlass | 110 | 99.0 | 105 | 0.90 | 7.00 | 1 |" in table


def test_what_is_only_aimed_for_is_shown_as_such() -> None:
    rows = PARTS["goals"](results_of(measured("idle", "windlass", per_worker=2.0)), []).splitlines()
    assert "| idle | transactions per second of an idle worker | must | ≤ 3 | 2.00 (1 run) | yes |" in rows
    note = "a poll each 500 ms makes 2 by itself"
    row = f"| idle | transactions per second of an idle worker ({note}) | aim | ≤ 1 | 2.00 (1 run) | **no** |"
    assert row in rows


def whole_results() -> Results:
    held = {"ratio": 0.9, "first": 10.0, "last": 9.0, "mean": 9.5, "dead_rows": 7.0}
    curve = [[0.0, 10.0], [1.0, 9.0]]
    return results_of(
        *(
            measured(name, system, rate=100.0)
            for name in ("W1", "W2", "W3")
            for system in ("windlass", "floor")
        ),
        measured("W4", "windlass", p50=1.0, p99=2.0, max=3.0),
        measured("W3", "pgqueuer <&>", rate=10.0),
        Measurement("W6", "windlass", 0, 90.0, held, None, curve),
        Measurement("W6c", "windlass", 0, 90.0, held, None, curve),
        measured("idle", "windlass", per_worker=1.0, workers=100.0),
        measured("feature-plain", "windlass", rate=100.0),
        measured("feature-thread", "windlass", rate=40.0),
        Measurement("W3", "floor", 1, 1.0, error="JobsLost: 3 | of 4"),
    )


def test_results_survive_their_file(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    save(whole_results(), path)
    again = load(path)
    assert again.figure("W3", "windlass", "rate") == whole_results().figure("W3", "windlass", "rate")
    assert again.cost("W3", "windlass", "wal_bytes") == summarize([300.0])
    both = merge([again, again])
    assert [one.rep for one in both.of("W2", "floor")] == [0, 2]


def test_figures_side_by_side_are_of_one_command_and_of_common_repetitions() -> None:
    """Medians of other repetitions would say 4.0 here, where each that has both says 2.0."""
    beside = results_of(
        *(measured("W3", "windlass", rep, rate=rate) for rep, rate in enumerate((200.0, 200.0, 900.0))),
        *(measured("W3", "floor", rep, rate=100.0) for rep in range(2)),
        Measurement("W3", "floor", 2, 1.0, error="JobsLost: one"),
    )
    alone = results_of(*(measured("W3", "windlass", rep, rate=400.0) for rep in range(5)))
    for results in (merge([beside, alone]), merge([alone, beside])):
        own, floor = (results.figure("W3", name, "rate") for name in ("windlass", "floor"))
        assert own is not None
        assert floor is not None
        assert (own.median, own.runs, floor.median, floor.runs) == (200.0, 2, 100.0, 2)
        ratio = results.ratio("rate", ("W3", "windlass"), ("W3", "floor"))
        assert ratio is not None
        assert (ratio.median, ratio.runs) == (2.0, 2)
        assert "W3 rate, jobs/s (2 runs)" in PARTS["compared"](results, [])


def test_each_merged_command_keeps_its_date_and_revision() -> None:
    first, second = (
        results_of(measured("W1", "windlass", rate=1.0)),
        results_of(measured("W2", "floor", rate=1.0)),
    )
    later = {**second.environment, "at": "2030-02-01T09:00:00+00:00", "revision": "def"}
    text = PARTS["environment"](
        merge([first, replace(second, command="./run bench --only W2", environment=later)]), []
    )
    assert "| 1 | `./run bench` | 2030-01-31 09:00 | `abc` |" in text
    assert "| 2 | `./run bench --only W2` | 2030-02-01 09:00 | `def` |" in text
    assert text.count("| machine |") == 1
    elsewhere = merge([first, replace(second, environment={**later, "cpu": "Another CPU"})])
    assert "| machine | Another CPU," in PARTS["environment"](elsewhere, [])


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 1}', '{"format": 99}', '{"format": 1, "systems": 3}']
)
def test_a_file_that_is_none_of_results_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(Refused, match="results"):
        load(path)
    with pytest.raises(Refused, match="cannot be read"):
        load(tmp_path / "nothing.json")


def test_rendering_writes_the_marked_places_and_nothing_else(tmp_path: Path) -> None:
    document = tmp_path / "performance.md"
    document.write_text(DOCUMENT.read_text())
    written = render(whole_results(), document, tmp_path / "images")
    assert {path.name for path in written} == {"performance.md", *PICTURES}
    text = document.read_text()
    assert _MARKED.sub("", text) == _MARKED.sub("", DOCUMENT.read_text())
    assert "| windlass | 100 |" in text
    assert "3 \\| of 4" in text
    assert "| a handler that is not a coroutine | 40.0 | 0.40 |" in text
    assert "| `celery` | not measured: redis-server is not installed |" in text
    assert "| `procrastinate` | not measured: not asked for |" in text
    assert "![jobs per second, by workload and system](images/throughput.svg)" in text
    assert fill(text, whole_results(), list(PICTURES)) == text


def test_the_document_has_a_place_for_every_part() -> None:
    assert sorted(match[2] for match in _MARKED.finditer(DOCUMENT.read_text())) == sorted(PARTS)


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_well_formed_and_name_every_system(name: str) -> None:
    drawn = PICTURES[name](whole_results())
    assert drawn is not None
    words = [element.text for element in ET.fromstring(drawn).iter() if element.text]
    assert "windlass" in words
    if name == "throughput.svg":
        assert "pgqueuer <&>" in words
    assert PICTURES[name](results_of(measured("memory", "windlass", growth=1.0))) is None


def test_jobs_are_shared_out_evenly_among_tenants() -> None:
    parts = list(_by_tenant(range(10, 20), ["a", "b", "c"]))
    assert parts == [("a", range(10, 14)), ("b", range(14, 17)), ("c", range(17, 20))]
    assert list(_by_tenant(range(2), ["a", "b", "c"])) == [("a", range(1)), ("b", range(1, 2))]
    assert list(_by_tenant(range(2), None)) == [(None, range(2))]


def test_options_of_the_quick_lane_are_small() -> None:
    quick, whole = parse(["--quick"]), parse([])
    assert (quick.reps, whole.reps) == (1, 3)
    assert quick.scale < whole.scale == 1.0
    assert parse(["--quick", "--reps", "2", "--scale", "0.5"]).reps == 2
    with pytest.raises(SystemExit):
        parse(["--scale", "0"])


def test_the_recorded_command_tells_nothing_of_the_machine() -> None:
    said = ["--peers", "--json", "/home/me/out.json", "--database-url", "postgresql://u:secret@h/x"]
    assert command_line([*said, "--cache-dir=/home/me", "--reps", "5"]) == (
        "./run bench --peers --json out.json --reps 5"
    )
    assert command_line(["--json", "docs/performance/a.json"]) == "./run bench --json docs/performance/a.json"
    assert command_line(["--json=/home/me/out.json"]) == "./run bench --json=out.json"


def test_another_database_and_login_are_put_into_a_url() -> None:
    url = "postgresql://admin:secret@db.example.org:5433/postgres?sslmode=require"
    assert _with(url, database="bench_1") == (
        "postgresql://admin:secret@db.example.org:5433/bench_1?sslmode=require"
    )
    assert _with(url, user="app", password="p@ss").startswith("postgresql://app:p%40ss@db.example.org:5433/")
    assert _with("postgresql:///postgres?host=/run", database="b") == "postgresql:///b?host=/run"


def test_costs_are_read_from_the_operating_system() -> None:
    own = cpu_seconds(1)
    assert own is None or own >= 0
    assert cpu_seconds(2**30) is None
    assert resident_bytes(2**30) is None


def test_every_peer_has_its_driver_here() -> None:
    for peer in PEERS.values():
        path = peer.driver if peer.source == "npm" else f"{peer.driver.rpartition('.')[2]}.py"
        assert (ROOT / "bench" / "peers" / path).is_file(), peer.name
        assert peer.settings


SLOWEST = {"procrastinate": 460, "celery": 700, "dramatiq": 1_500, "awa": 10_000}
"""Jobs per second of a drain, about."""


@pytest.mark.parametrize(("name", "rate"), SLOWEST.items())
def test_a_slow_peer_gets_so_few_jobs_that_a_drain_ends_soon(name: str, rate: int) -> None:
    peer, nothing = PEERS[name], cast(Any, None)
    system = replace(windlass(), share=peer.share)
    trial = Trial(nothing, system, nothing, 1.0, 1, lambda text: None, {})
    assert trial.load(100_000) / rate < 15
    assert f"; {peer.share:.0%} of the larger loads" in peer.words


def test_modules_of_the_bench_stay_readable_in_one_sitting() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in (ROOT / "bench").rglob("*.py")}
    assert {name: length for name, length in lengths.items() if length > 300} == {}
