"""What the bench says about results: goals, the quick lane, files, and the page."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bench.files import load, merge, save
from bench.goals import GOALS, Goal, reached
from bench.refusal import Refused
from bench.report.parts import PARTS
from bench.report.pictures import PICTURES
from bench.report.render import _MARKED, DOCUMENT, fill, render
from bench.results import Measurement, Results
from bench.stats import summarize
from bench.thresholds import QUICK, QUICK_WORKLOADS, judge, judged, needs_floor
from bench.workloads.registry import WORKLOADS
from tests.unit.bench_results import measured, results_of

ROOT = Path(__file__).parents[2]


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


@pytest.mark.parametrize(
    ("variant", "peers"),
    [("", "W6"), ("-tenants", "W6"), ("-retries", "W6-retries"), ("-late", "W6")],
)
def test_a_held_snapshot_is_judged_by_its_mean_and_its_end_too(variant: str, peers: str) -> None:
    """A queue that is slow from its first second has no slope.  A peer is given failing jobs where we are."""
    results = results_of(
        held(f"W6{variant}", "windlass", 100.0, 100.0, 100.0),
        held(f"W6c{variant}", "windlass", 1000.0, 900.0, 950.0),
        held(peers, "graphile-worker", 80.0, 25.0, 40.0),
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
