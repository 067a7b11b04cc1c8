"""Every pair of verbs that can meet on one job, in both orders, stopped wherever one can be stopped.

What comes of it must be what comes of saying one after the other.  In which order follows from where the
first was stopped: once it has said all but its commit, it is first, but for those who do not wait for it.
"""

from collections import defaultdict
from dataclasses import replace

import pytest
from psycopg.errors import SerializationFailure

from tests.interleavings.meeting import JOB, Meeting
from tests.interleavings.stage import STOPS, Known, Outcome, Stage
from tests.interleavings.verbs import MEET, VERBS
from tests.sql.steps import Session
from tests.sql.two import ENDINGS
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Database

pytestmark = [pytest.mark.outer_versions, pytest.mark.timeout(300)]

PAIRS = [(situation, first) for situation, verbs in MEET.items() for first in verbs]

# Who looks without waiting for an uncommitted word, and is told what was true before it: a cancel does not
# wait for a success, and a producer does not wait to learn that the holder of its key is ending.
OVERTAKES = {
    "cancel": {"complete", "finish"},
    "enqueue": {"complete", "finish", "fail", "expire", "claim", "cancel"},
}


@pytest.fixture(scope="session")
def known() -> defaultdict[int, Known]:
    return defaultdict(dict)


@pytest.fixture
def stage(db: Database, known: defaultdict[int, Known]) -> Stage:
    return Stage(db, known=known[db.version])


def explain(got: Outcome, *expected: Outcome) -> str:
    return "\n".join(
        [
            f"first {got.first}, second {got.second}",
            *(
                f"expected {one.first}, {one.second}, facts {sorted(got.facts ^ one.facts)}"
                for one in expected
            ),
        ]
    )


@pytest.mark.parametrize(("situation", "first"), PAIRS)
def test_who_speaks_before_a_commit(db: Database, stage: Stage, situation: str, first: str) -> None:
    for second in MEET[situation]:
        for ending in ENDINGS:
            got, waited = stage.before_commit(situation, first, second, ending)
            assert_whole(db, exact_leases=False, late_cancel=True)
            what = f"{situation}: {first}, then {second}, {ending}"
            assert not (waited and VERBS[second].passes), f"{what}: it waited, and should wait for nobody"
            if ending == "rollback":
                alone = stage.serial(situation, first, second, "2")
                assert got == replace(alone, first=got.first), f"{what}: {explain(got, alone)}"
            elif first in OVERTAKES.get(second, ()):
                orders = list(stage.orders(situation, first, second))
                assert got in orders, f"{what}: {explain(got, *orders)}"
            else:
                in_order = stage.serial(situation, first, second)
                assert got == in_order, f"{what}: {explain(got, in_order)}"


@pytest.mark.parametrize(("situation", "first"), PAIRS)
def test_who_speaks_in_the_middle_of_another(db: Database, stage: Stage, situation: str, first: str) -> None:
    for stop in STOPS:
        for second in MEET[situation]:
            got = stage.at(stop, situation, first, second)
            if got is None:
                break  # nothing of the first's touches it, whoever the second is
            assert_whole(db, exact_leases=False, late_cancel=True)
            if got not in stage.orders(situation, first, second, stop):
                orders = explain(got, *stage.orders(situation, first, second, stop))
                pytest.fail(f"{situation}: {first} stopped at {stop}, {second}: {orders}")


@pytest.mark.parametrize("second", ["enqueue", "redrive"])
def test_a_key_is_not_taken_from_a_job_that_is_being_revived(stage: Stage, second: str) -> None:
    """Both come to the key at once, each having seen that its holder is dead."""
    first = "redrive" if second == "enqueue" else "enqueue"
    got = stage.at("the key", "dead", first, second)
    assert got in list(stage.orders("dead", first, second))


def test_a_snapshot_from_before_a_redrive_cannot_take_its_key(db: Database) -> None:
    """Under repeatable read the holder looks dead for ever, so no answer would be right."""
    meeting = Meeting(db, Session(db.connection()))
    meeting.arrange("dead")
    late = Session(db.connect(autocommit=False))
    late.call("set transaction isolation level repeatable read")
    late.call("select 1")
    meeting.jobs.call("select from windlass.redrive_jobs(%s, %s)", meeting.jobs.tenant, [JOB])
    with nothing_changed(db), pytest.raises(SerializationFailure):
        late.enqueue(key="k", scope="active")
    late.conn.rollback()
