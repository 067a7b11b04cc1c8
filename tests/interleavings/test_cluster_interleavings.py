"""Every pair of a cluster's verbs that can meet on one job, in both orders, stopped wherever one can be.

What comes of it must be what comes of saying one after the other, in one of the two orders; whoever passes
over what somebody holds may speak before and after.
"""

from dataclasses import dataclass, field, replace

import pytest

from tests.interleavings.cluster_meeting import ClusterMeeting
from tests.interleavings.cluster_verbs import MEET, STOPS, VERBS
from tests.interleavings.stage import Outcome, Stage
from tests.interleavings.test_interleavings import explain
from tests.sql.cluster_whole import assert_cluster_whole
from tests.sql.steps import Session
from tests.sql.two import ENDINGS
from tests.sql.whole import assert_whole
from tests.support import Clock, Database

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def stage(db: Database, clock: Clock) -> Stage:
    clock.freeze()
    return Stage(db, ClusterMeeting(db, Session(db.connection())), VERBS, STOPS)


@dataclass
class Whole:
    """What was found whole once, with all its facts, is not looked at again."""

    db: Database
    seen: set[frozenset[str]] = field(default_factory=set)

    def check(self, got: Outcome) -> None:
        if got.facts not in self.seen:
            assert_whole(self.db, late_cancel=True)
            assert_cluster_whole(self.db)
            self.seen.add(got.facts)


# One test per situation: what comes of one verb after the other is found out once, and compared with often.
@pytest.mark.parametrize("situation", MEET)
def test_whoever_meets_comes_one_after_the_other(db: Database, stage: Stage, situation: str) -> None:
    whole = Whole(db)
    for first in MEET[situation]:
        for second in MEET[situation]:
            speak_before_a_commit(whole, stage, situation, first, second)
        for stop in STOPS:
            speak_in_the_middle(whole, stage, stop, situation, first)


def speak_before_a_commit(whole: Whole, stage: Stage, situation: str, first: str, second: str) -> None:
    for ending in ENDINGS:
        got, waited = stage.before_commit(situation, first, second, ending)
        whole.check(got)
        what = f"{situation}: {first}, then {second}, {ending}"
        may_wait = second.startswith("turn") and first.startswith(("turn", "stop"))  # for who leads
        assert not (waited and VERBS[second].passes and not may_wait), f"{what}: it waited, and should not"
        if ending == "rollback":
            alone = stage.serial(situation, first, second, "2")
            assert got == replace(alone, first=got.first), f"{what}: {explain(got, alone)}"
        else:
            orders = list(stage.orders(situation, first, second))
            assert got in orders, f"{what}: {explain(got, *orders)}"


def speak_in_the_middle(whole: Whole, stage: Stage, stop: str, situation: str, first: str) -> None:
    for second in MEET[situation]:
        got = stage.at(stop, situation, first, second)
        if got is None:
            return  # nothing of the first's touches it, whoever the second is
        whole.check(got)
        orders = list(stage.orders(situation, first, second))
        assert got in orders, f"{situation}: {first} stopped at {stop}, {second}: {explain(got, *orders)}"
