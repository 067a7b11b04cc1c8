"""The bench's own arithmetic: what it plans, what it counts as lost, and what it says about results."""

import base64
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.drivers.protocol import Tally, payload_of
from bench.drivers.windlass import _by_tenant
from bench.options import command_line, parse
from bench.peers.catalog import PEERS
from bench.probe import cpu_seconds, resident_bytes
from bench.refusal import Refused
from bench.results import Measurement
from bench.runner import make_plan
from bench.server import _with
from bench.stats import quantile, summarize
from bench.systems.own import floors, windlass
from bench.trial import JobsLost, Trial, WorkerReport
from bench.workloads.held import _rate
from bench.workloads.registry import WORKLOADS, choose
from tests.unit.bench_results import measured, results_of

ROOT = Path(__file__).parents[2]


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
