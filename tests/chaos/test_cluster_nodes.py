"""Some nodes or most of them die, the database restarts, a node is cut off: no job is lost."""

import os
import signal
from pathlib import Path

import psycopg

from tests.chaos.cluster_fleet import NAMES, ClusterFleet, cluster_fleet, eventually
from tests.integration.proxy import Proxy
from tests.support import Database
from windlass.db.embedded import EmbeddedServer
from windlass.db.migrate import migrate


def test_a_minority_is_killed(fleet: ClusterFleet) -> None:
    leader = fleet.leader()
    victim = next(name for name in NAMES if name != leader)
    job_id = fleet.create_and_begin()
    fleet.kill(victim)
    fleet.go("part", job_id)
    assert fleet.result(job_id)["nodes"] == sorted(set(NAMES) - {victim})
    fleet.assert_sound([job_id])


def test_a_majority_is_killed_and_comes_back(fleet: ClusterFleet) -> None:
    leader = fleet.leader()
    victims = [name for name in NAMES if name != leader]
    job_id = fleet.create_and_begin(timeout=0.5)
    fleet.kill(*victims)
    fleet.go("part", job_id)
    eventually(lambda: fleet.get(job_id).warning, "the time is up")
    eventually(lambda: fleet.get(job_id).done == 1, "the last one's part is done")
    assert fleet.state(job_id) == "queued"
    fleet.start(*victims)
    assert set(fleet.result(job_id)["nodes"]) > {leader}
    parts = {part.node_name: part for part in fleet.get(job_id).parts}
    assert set(parts) == set(NAMES)
    assert parts[leader].attempts == 1
    fleet.assert_sound([job_id])


def test_a_majority_is_killed_and_the_policy_goes_on_without_it(fleet: ClusterFleet) -> None:
    leader = fleet.leader()
    job_id = fleet.create(hold="part", timeout=0.5, on_timeout="proceed")
    eventually(lambda: fleet.ledger("part.start", job_id), "parts run")
    fleet.kill(*(name for name in NAMES if name != leader))
    result = fleet.result(job_id)
    assert result == {
        "term": result["term"],
        "nodes": [],
        "warning": "0 of 3 parts were done after 0.5 s, and 2 were needed",
    }
    fleet.go("part", job_id)


def test_a_node_is_cut_off_and_comes_back(db: Database, tmp_path: Path) -> None:
    """The leader loses the database while its action runs; what it says when it is back changes nothing."""
    wire = Proxy(db.url(), tmp_path)
    with cluster_fleet(db.url(), db.url("superuser"), tmp_path) as fleet:
        fleet.start("cut", url=wire.url)
        fleet.start("a", "b")
        assert fleet.leader() == "cut"
        _cut_and_mend(fleet, wire)
        wire.refuse()


def _cut_and_mend(fleet: ClusterFleet, wire: Proxy) -> None:
    job_id = fleet.create(hold="action")
    eventually(lambda: fleet.ledger("action.start", job_id), "the action runs")
    wire.refuse()
    fleet.new_leader("cut")
    eventually(lambda: len(fleet.ledger("action.start", job_id)) == 2, "the next leader begins again")
    fleet.go("action", job_id)
    result = fleet.result(job_id)
    assert result["term"] > 1
    wire.accept()
    eventually(lambda: "cut" in fleet.members(), "it is back")
    after = fleet.create(hold="action")  # two of three are enough: the end of the job must wait for the third
    eventually(lambda: "cut" in {line["node"] for line in fleet.ledger("part.end", after)}, "it works")
    fleet.go("action", after)
    assert fleet.result(job_id) == result
    fleet.result(after)
    fleet.assert_sound([job_id, after])


def test_the_database_is_killed_and_restarted(tmp_path: Path) -> None:
    with EmbeddedServer.start(ephemeral=True, settings={"synchronous_commit": "on"}) as server:
        migrate(server.url("windlass_owner"))
        with cluster_fleet(server.url(), server.url("windlass_superuser"), tmp_path) as fleet:
            fleet.start(*NAMES)
            jobs = [fleet.create(hold="part") for _ in range(5)]
            eventually(lambda: len(fleet.ledger("part.start")) >= 10, "parts run")
            postmaster = server.postmaster_pid
            assert postmaster is not None
            os.kill(postmaster, signal.SIGKILL)
            eventually(lambda: _is_back(fleet, server, postmaster), "the server is back")
            fleet.go("part", *jobs)
            for job_id in jobs:
                assert len(fleet.result(job_id)["nodes"]) >= 2
            fleet.assert_sound(jobs)


def _is_back(fleet: ClusterFleet, server: EmbeddedServer, old_pid: int) -> bool:
    try:
        return server.postmaster_pid not in (None, old_pid) and bool(fleet.ask("select 1 as one"))
    except psycopg.Error:
        return False
