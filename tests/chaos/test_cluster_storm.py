"""Many cluster jobs under random kills and freezes; the seed is printed, and can be given again.

WINDLASS_TEST_CLUSTER_JOBS says how many jobs (200 is the full run), WINDLASS_TEST_SEED which storm.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from tests.chaos.cluster_fleet import LEASE, ClusterFleet, cluster_fleet, eventually
from tests.support import Database

NAMES = ("a", "b", "c", "d")
JOBS = int(os.environ.get("WINDLASS_TEST_CLUSTER_JOBS", "30"))


@pytest.fixture
def fleet(db: Database, tmp_path: Path) -> Iterator[ClusterFleet]:
    with cluster_fleet(db.url(), db.url("superuser"), tmp_path) as fleet:
        yield fleet


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def strike(fleet: ClusterFleet, chance: random.Random) -> str:
    """Kill a node and start it again, or freeze one past its lease."""
    name = chance.choice([fleet.leader(), *NAMES])
    if chance.random() < 0.7:
        fleet.kill(name)
        fleet.start(name)
        return f"killed {name}"
    fleet.nodes[name].send(signal.SIGSTOP)
    thaw = time.monotonic() + LEASE * 1.2
    eventually(lambda: time.monotonic() > thaw, "its lease has run out")
    fleet.nodes[name].send(signal.SIGCONT)
    return f"froze {name}"


@pytest.mark.timeout(900 if JOBS > 30 else 120)
def test_a_storm(fleet: ClusterFleet) -> None:
    seed = int(os.environ.get("WINDLASS_TEST_SEED", random.randrange(2**32)))
    tell(f"seed {seed}, {JOBS} jobs")
    chance = random.Random(seed)
    fleet.start(*NAMES)
    jobs: list[UUID] = []
    strikes: list[str] = []
    while len(jobs) < JOBS:
        burst = [fleet.create(seconds=chance.uniform(0.0, 0.3)) for _ in range(chance.randrange(4, 8))]
        jobs += burst[: JOBS - len(jobs)]
        strikes.append(strike(fleet, chance))
        tell(f"{strikes[-1]} after {len(jobs)} jobs, term {fleet.term}")
    for job_id in jobs:
        fleet.result(job_id)
    assert {fleet.state(job_id) for job_id in jobs} == {"succeeded"}
    fleet.assert_sound(jobs)
    tell(f"{len(jobs)} jobs, {len(strikes)} strikes, term {fleet.term}")
