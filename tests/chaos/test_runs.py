"""Short runs with fixed seeds: jobs under several faults at once, and not one rule broken."""

from pathlib import Path
from typing import Any

import pytest

from tests.chaos.faults import FAULTS
from tests.chaos.postgres import find_provider
from tests.chaos.report import as_text
from tests.chaos.runner import Plan, run, schedule

FAST: dict[str, Any] = {"settings": {"fsync": "off"}, "gap_seconds": 0.8}

RUNS = {
    "workers": Plan(500, 7.0, 11, ("kill", "pause", "storm", "exit", "cut", "half-open"), **FAST),
    "server": Plan(500, 7.0, 12, ("crash", "sessions", "limit", "disk", "refuse", "oom"), **FAST),
    "places": Plan(400, 6.0, 13, ("namespace", "pooler", "clock-ahead", "clock-behind"), workers=2, **FAST),
    "failover": Plan(400, 6.0, 14, ("failover",), standby="sync", workers=2, settings=FAST["settings"]),
}


@pytest.mark.timeout(300)  # seconds on a free machine; where many share it, a lease alone may take longer
@pytest.mark.parametrize("name", RUNS)
def test_no_rule_is_broken(name: str, tmp_path: Path) -> None:
    plan = RUNS[name]
    assert {fault for _, fault in schedule(plan, list(plan.faults))} == set(plan.faults)
    result = run(plan, tmp_path)
    assert result.kept, as_text(result)
    assert result.counts["jobs there at last"] >= plan.jobs - result.counts["jobs of unknown answer"]
    assert set(result.started) | set(result.absent) == set(plan.faults), as_text(result)
    assert result.counts["handlers started"] >= plan.jobs / 2


@pytest.mark.every_version
@pytest.mark.timeout(300)
def test_no_rule_is_broken_on_this_version(pg_version: int, tmp_path: Path) -> None:
    """The default version has its longer runs above: this is for the others."""
    if pg_version == find_provider().major:
        return
    result = run(
        Plan(300, 3.0, 15, ("kill", "sessions", "crash"), workers=2, major=pg_version, **FAST), tmp_path
    )
    assert result.version.startswith(str(pg_version))
    assert result.kept, as_text(result)
    assert set(result.started) == {"kill", "sessions", "crash"}


def test_a_seed_gives_the_same_faults_again() -> None:
    names = list(FAULTS)
    one, other = Plan(1, 120.0, 5, ()), Plan(1, 120.0, 6, ())
    assert schedule(one, names) == schedule(one, names)
    assert schedule(one, names) != schedule(other, names)


def test_every_fault_comes_before_any_comes_again() -> None:
    planned = [name for _, name in schedule(Plan(1, 600.0, 1, ()), list(FAULTS))]
    count = len(FAULTS)
    assert set(planned[:count]) == set(planned[count : 2 * count]) == set(FAULTS)
