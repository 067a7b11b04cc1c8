"""`windlass nodes`, `nodes drain` and `jobs show`, as far as they tell of the cluster."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.cluster_fleet import declare, fleet
from tests.integration.command import Command
from tests.sql.cluster import Cluster
from tests.support import Clock, Database
from windlass import Windlass


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


def test_a_job_is_created_in_the_leaders_name(windlass: Command, db: Database) -> None:
    cluster = Cluster(db, "a", "b", "c")
    said = ("cluster", "create", "compact", '{"table": "t"}', "--quorum", "all", "--on-timeout", "fail")
    more = ("--quorum-timeout", "1m", "--key", "k", "--part-max-attempts", 2)
    made = windlass.here(*said, *more, "--json").ok().json
    assert (made["created"], made["parts"], made["needed"], made["term"]) == (True, 3, 3, 1)
    shown = windlass.here("jobs", "show", made["id"]).ok().out
    assert "1m, then fail" in shown
    (listed,) = windlass.here("jobs", "list", "--state", "queued", "--json").ok().json["items"]
    assert (listed["id"], listed["shown_state"], listed["payload"]) == (made["id"], "queued", {"table": "t"})
    assert listed["run_at"] == listed["created_at"]
    again = windlass.here(*said, *more).ok()
    assert (again.out.strip(), "the key 'k' is taken" in again.err) == (made["id"], True)
    assert windlass.here("cluster", "create", "compact", "--wait", "--wait-timeout", "0.1").code == 10
    assert windlass.here("cluster", "create", "unknown").code == 6
    assert "3 parts, 2 needed" in windlass.here("cluster", "create", "compact").ok().err
    assert windlass.here("cluster", "create", "compact", "--wait-timeout", 1).code == 2
    cluster.tend("a", local=())
    assert "the leader alone acts" in windlass.here("cluster", "create", "compact").ok().err


async def test_a_created_job_is_waited_for(windlass: Command, db: Database) -> None:
    async with Windlass(db.url()) as app:
        declare(app, quorum="all")
        async with fleet(db, app, "a", "b"):
            said = ("cluster", "create", "compact", '{"table": "t"}', "--quorum", "all", "--wait", "--json")
            answer = await asyncio.to_thread(windlass, *said)
            assert answer.ok().json["result"]["results"] == {"a": "a:t", "b": "b:t"}


def test_one_part_is_a_part(windlass: Command, db: Database) -> None:
    Cluster(db, "a")
    made = windlass.here("cluster", "create", "compact").ok()
    assert "1 part, 1 needed" in made.err
    assert "0 of 1 part done" in windlass.here("jobs", "show", made.out.strip()).ok().out


def test_any_other_job_has_no_parts(windlass: Command, db: Database) -> None:
    query = "select job_id from windlass.enqueue_job(windlass.tenant_id('default'), 'add')"
    job_id = str(db.fetch_value(query))
    assert "cluster" not in windlass.here("jobs", "show", job_id, "--json").ok().json
    assert "parts" not in windlass.here("jobs", "show", job_id).ok().out
