"""`windlass nodes`, `nodes drain` and `jobs show`, as far as they tell of the cluster."""

from pathlib import Path

import pytest

from tests.integration.command import Command
from tests.sql.cluster import Cluster
from tests.support import Clock, Database


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    return Command(tmp_path, db.url())


def test_who_leads_and_who_drains(windlass: Command, db: Database) -> None:
    cluster = Cluster(db, "mill", "yard")
    leader, member = windlass.here("nodes", "--json").ok().json["items"]
    assert (leader["name"], leader["leads"], leader["member"], leader["address"]) == (
        "mill",
        True,
        True,
        "mill:1",
    )
    assert (member["leads"], member["draining"]) == (False, False)
    drained = windlass.here("nodes", "drain", "mill", "--reason", "new disk", "--json").ok().json
    assert drained == {"items": [str(cluster.ids["mill"])]}
    cluster.tend("mill")
    cluster.tend("yard")
    first, second = windlass.here("nodes").ok().out.splitlines()[1:]
    assert ("draining" in first, "member" in first) == (True, True)
    assert ("active" in second, "leader" in second) == (True, True)
    assert windlass.here("nodes", "drain", "nobody").code == 3


def test_a_job_with_its_parts(windlass: Command, db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b", "c")
    job_id = str(cluster.create(part_max_attempts=1, quorum_timeout_ms=1500))
    cluster.do("a")
    cluster.do("b", "failed")
    shown = windlass.here("jobs", "show", job_id).ok().out
    assert "1 of 3 parts done, 2 needed" in shown
    assert "then proceed" in shown
    assert "when its parts are done" in shown
    lines = [line.split() for line in shown.splitlines()]
    assert [line[:3] for line in lines if line[:1] in (["a"], ["b"], ["c"])] == [
        ["a", "succeeded", "1"],
        ["b", "failed", "1"],
        ["c", "queued", "0"],
    ]
    assert "it broke" in shown
    clock.advance(2)
    cluster.tend("a")
    shown = windlass.here("jobs", "show", job_id).ok().out
    assert "1 of 3 parts were done after 1.5 s, and 2 were needed" in shown
    cluster.act("a")
    document = windlass.here("jobs", "show", job_id, "--json").ok().json
    assert (document["job"]["state"], document["cluster"]["verdict"]) == ("succeeded", "timeout")
    assert [part["state"] for part in document["cluster"]["parts"]] == ["succeeded", "failed", "queued"]


def test_any_other_job_has_no_parts(windlass: Command, db: Database) -> None:
    query = "select job_id from windlass.enqueue_job(windlass.tenant_id('default'), 'add')"
    job_id = str(db.fetch_value(query))
    assert "cluster" not in windlass.here("jobs", "show", job_id, "--json").ok().json
    assert "parts" not in windlass.here("jobs", "show", job_id).ok().out
