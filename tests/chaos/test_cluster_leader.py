"""The leader is killed in each phase of a job, or frozen past its lease: the next one ends the job, once."""

import signal
import time

from tests.chaos.cluster_fleet import LEASE, NAMES, ClusterFleet, eventually


def test_killed_before_any_part_is_claimed(fleet: ClusterFleet) -> None:
    fleet.set_gate()
    job_id, old, term = fleet.create(), fleet.leader(), fleet.term
    assert {part.state for part in fleet.get(job_id).parts} == {"queued"}
    fleet.kill(old)
    fleet.new_leader(old)
    fleet.clear_gate()
    result = fleet.result(job_id)
    assert (result["term"] > term, old in result["nodes"]) == (True, False)
    fleet.assert_sound([job_id])


def test_killed_while_the_parts_run(fleet: ClusterFleet) -> None:
    job_id, old = fleet.create_and_begin(), fleet.leader()
    fleet.kill(old)
    fleet.go("part", job_id)
    result = fleet.result(job_id)
    survivors = sorted(set(NAMES) - {old})
    assert result["nodes"] == survivors
    assert sorted(line["node"] for line in fleet.ledger("part.end", job_id)) == survivors
    fleet.assert_sound([job_id])


def test_killed_between_the_quorum_and_the_action(fleet: ClusterFleet) -> None:
    job_id, old, term = fleet.create_and_begin(), fleet.leader(), fleet.term
    fleet.set_gate()
    fleet.go("part", job_id)
    eventually(lambda: fleet.get(job_id).verdict == "quorum", "the parts are done")
    fleet.kill(old)
    assert fleet.ledger("action.start", job_id) == []
    fleet.new_leader(old)
    fleet.clear_gate()
    assert fleet.result(job_id)["term"] > term
    assert fleet.outcomes(job_id) == ["succeeded"]
    assert len(fleet.ledger("part.start", job_id)) == 3  # what is done is not done again
    fleet.assert_sound([job_id])


def test_killed_during_the_action(fleet: ClusterFleet) -> None:
    job_id = fleet.create(hold="action")
    (begun,) = eventually(lambda: fleet.ledger("action.start", job_id), "the action runs")
    fleet.kill(begun["node"])
    eventually(lambda: len(fleet.ledger("action.start", job_id)) == 2, "the next leader begins again")
    fleet.go("action", job_id)
    result = fleet.result(job_id)
    again = fleet.ledger("action.start", job_id)[1]
    assert (result["term"], again["term"], again["version"]) == (again["term"], result["term"], 2)
    assert again["term"] > begun["term"]
    assert fleet.outcomes(job_id) == ["crashed", "succeeded"]
    fleet.assert_sound([job_id])


def test_frozen_for_two_leases_during_the_action(fleet: ClusterFleet) -> None:
    job_id = fleet.create(hold="action")
    (begun,) = eventually(lambda: fleet.ledger("action.start", job_id), "the action runs")
    frozen = fleet.nodes[begun["node"]]
    frozen.send(signal.SIGSTOP)
    stopped_at = time.monotonic()
    eventually(lambda: len(fleet.ledger("action.start", job_id)) == 2, "the next leader begins again")
    fleet.go("action", job_id)
    result = fleet.result(job_id)
    eventually(lambda: time.monotonic() > stopped_at + 2 * LEASE, "two leases have passed")
    frozen.send(signal.SIGCONT)
    eventually(lambda: frozen.name in fleet.members(), "it takes its turns again")
    assert fleet.leader() != frozen.name
    assert (fleet.result(job_id), fleet.outcomes(job_id)) == (result, ["crashed", "succeeded"])
    after = fleet.create(hold="")
    assert len(fleet.get(after).parts) == 3
    eventually(lambda: frozen.name in {line["node"] for line in fleet.ledger("part.end", after)}, "it works")
    fleet.result(after)
    fleet.assert_sound([job_id, after])


def test_a_graceful_stop_hands_over_without_waiting_for_the_lease(fleet: ClusterFleet) -> None:
    old, term = fleet.leader(), fleet.term
    assert fleet.nodes.pop(old).stop() == 0
    assert fleet.new_leader(old)
    assert fleet.term == term + 1
    resigned = fleet.ask(
        "select e.at - r.at < interval '1 s' * %s / 2 as quick"
        " from windlass_data.event as e, windlass_data.event as r"
        " where r.action = 'leader.resigned' and e.action = 'leader.elected'"
        " and r.details -> 'term' = to_jsonb(%s::int) and e.details -> 'term' = to_jsonb(%s::int)",
        LEASE,
        term,
        term + 1,
    )
    assert [row.quick for row in resigned] == [True]
