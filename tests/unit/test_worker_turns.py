"""Whose turn it is, and from which marks on: what a worker makes of its claims and surveys."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from windlass.db.rpc import OpenLane, Survey
from windlass.worker.turns import MAX_LANES, STRIDE, Turns

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def lane(
    number: int,
    flow: str | None = None,
    *,
    head: int | None = 1,
    weight: int = 1,
    priority: int = 0,
    one_line: bool = False,
) -> OpenLane:
    return OpenLane(number, flow or f"q t{number}", priority, weight, one_line, head)


def survey(
    *lanes: OpenLane,
    heads: dict[int, int] | None = None,
    seen: tuple[int, int] = (100, 100),
    at: datetime = NOON,
    due_from: datetime | None = None,
) -> Survey:
    return Survey(list(lanes), heads or {}, *seen, at, due_from)


def job(lane_id: int, seq: int) -> Any:
    return SimpleNamespace(lane_id=lane_id, seq=seq)


def jobs(lane_id: int, first: int, count: int) -> list[Any]:
    return [job(lane_id, seq) for seq in range(first, first + count)]


def marks(turns: Turns) -> dict[int, tuple[int, int | None]]:
    return {number: (floor, mark) for number, floor, mark in turns.known()}


def test_at_first_nothing_is_known_and_everything_is_looked_at() -> None:
    plan = Turns().plan(10)
    assert (plan.known.lanes, plan.known.only, plan.known.since, plan.flows) == ([], False, None, ())


def test_a_mark_follows_in_strides_and_is_then_in_doubt() -> None:
    turns = Turns()
    turns.taken(turns.plan(STRIDE - 1), jobs(1, 1, STRIDE - 1))
    assert not turns.in_doubt
    assert turns.plan(1).known.lanes == []
    turns.taken(turns.plan(3), jobs(1, STRIDE, 3))
    assert turns.in_doubt
    assert turns.plan(1).known[:3] == ([1], [STRIDE], False)


def test_a_mark_becomes_the_floor_once_every_transaction_of_its_time_has_ended() -> None:
    turns = Turns()
    turns.taken(turns.plan(100), jobs(1, 1, 100))
    turns.learn(survey(seen=(40, 50)), described=False)
    assert marks(turns) == {1: (0, STRIDE)}
    turns.taken(turns.plan(100), jobs(1, 101, 100))
    turns.learn(survey(seen=(50, 60)), described=False)
    assert marks(turns) == {1: (0, 3 * STRIDE)}, "newer ones than the first survey may be of its time"
    turns.learn(survey(seen=(59, 70)), described=False)
    assert marks(turns) == {1: (0, 3 * STRIDE)}, "one of them is still open"
    turns.learn(survey(seen=(60, 80)), described=False)
    assert marks(turns)[1][0] == STRIDE, "the mark of then, not of now"
    assert turns.in_doubt
    turns.learn(survey(seen=(80, 90)), described=False)
    assert not turns.in_doubt


def test_what_appears_behind_a_mark_takes_it_back() -> None:
    turns = Turns()
    turns.taken(turns.plan(100), jobs(1, 11, 100))
    assert turns.learn(survey(heads={1: 5}, seen=(40, 50)), described=False), "that is news"
    assert turns.plan(100).known.marks == [4]
    turns.learn(survey(heads={1: 5}, seen=(50, 60)), described=False)
    turns.learn(survey(heads={1: 5}, seen=(60, 70)), described=False)
    assert marks(turns)[1] == (4, 4), "it may wait there as long as it likes"


def test_a_lane_that_ran_dry_is_asked_for_any_row() -> None:
    turns = Turns()
    turns.taken(turns.plan(500), jobs(1, 1, 100))
    assert turns.known() == [(1, 0, None)]
    turns.learn(survey(heads={1: 700}), described=False)
    assert turns.known() == [(1, 0, 699)]


def test_all_lanes_are_in_one_claim_where_it_reaches_all_flows() -> None:
    turns = Turns()
    turns.learn(survey(*(lane(n, head=n) for n in range(1, 11))), described=True)
    plan = turns.plan(10)
    assert not plan.known.only, "and it may find others"
    assert turns.plan(9).known.only


def test_who_gave_less_than_its_rounds_does_not_count_in_the_next_ones() -> None:
    turns = Turns()
    turns.learn(survey(*(lane(n) for n in (1, 2, 3))), described=True)
    plan = turns.plan(12)
    assert (plan.want, plan.known.only) == (12, False)
    turns.taken(plan, [*jobs(1, 1, 5), *jobs(2, 11, 5), *jobs(3, 21, 2)])
    assert turns.plan(11).want == 10, "whole rounds of the two that have more"
    turns.learn(survey(heads={3: 40}), described=False)
    assert turns.plan(11).want == 9, "and of three once it has again"


def test_who_has_work_again_counts_as_soon_as_a_claim_brings_it() -> None:
    turns = Turns()
    turns.learn(survey(*(lane(n) for n in (1, 2, 3))), described=True)
    turns.taken(turns.plan(12), [*jobs(1, 1, 6), *jobs(2, 11, 6)])
    plan = turns.plan(12)
    assert plan.want == 12
    turns.taken(plan, [*jobs(1, 31, 4), *jobs(2, 41, 4), *jobs(3, 51, 4)])
    assert turns.plan(10).want == 9


def test_a_claim_that_came_back_short_tells_nothing_of_rounds() -> None:
    turns = Turns()
    turns.learn(survey(*(lane(n) for n in (1, 2, 3))), described=True)
    turns.taken(turns.plan(12), [*jobs(1, 1, 4), *jobs(2, 11, 2)])
    assert turns.plan(11).want == 9


def visits(turns: Turns, want: int, claims: int) -> list[list[str]]:
    """The flows of so many claims, each of which finds all that it asks for."""
    found, seq = [], 1000
    for _ in range(claims):
        plan = turns.plan(want)
        assert plan.known.only
        share = plan.want // len(plan.flows)
        got = [job(flow.lanes[0].id, seq + n) for n in range(share) for flow in plan.flows]
        assert len(got) == plan.want <= want
        seq += want
        turns.taken(plan, got)
        found.append([flow.name for flow in plan.flows])
    return found


def test_nobody_waits_for_more_than_one_round() -> None:
    turns = Turns()
    turns.learn(survey(*(lane(n) for n in range(10))), described=True)
    names = [flow for flows in visits(turns, 1, 100) for flow in flows]
    for start in range(0, 100, 10):
        assert len(set(names[start : start + 10])) == 10, "each round has everybody once"


def test_a_round_of_many_tenants_reaches_each_once_whatever_the_size_of_a_claim() -> None:
    for want in (7, 50, 500):
        turns = Turns()
        turns.learn(survey(*(lane(n) for n in range(3000))), described=True)
        seen: Counter[str] = Counter()
        while max(seen.values(), default=0) < 2:
            (flows,) = visits(turns, want, 1)
            assert len(flows) <= min(want, MAX_LANES)
            seen.update(flows)
        assert len(seen) == 3000, f"claims of {want}: nobody had two turns before all had one"


def test_a_large_claim_is_for_more_turns_where_turns_bring_little() -> None:
    for each, claims in ((1, 12), (10, 50)):
        turns = Turns()
        turns.learn(survey(*(lane(n) for n in range(3000))), described=True)
        sizes, plan = [], None
        for _ in range(claims):
            plan = turns.plan(500)
            assert plan.want <= 1000, "should turns bring all of a sudden what they may: twice as much"
            got = [job(flow.lanes[0].id, 1 + n) for flow in plan.flows for n in range(each)]
            turns.taken(plan, got)
            sizes.append(len(got))
        assert min(sizes[9:]) > 400, f"{each} for each tenant"
        assert max(sizes) <= 500
        assert plan
        assert not any(lane.wet for flow in plan.flows for lane in flow.lanes), "nobody is asked twice"


def test_a_large_claim_is_for_fewer_turns_again_once_they_bring_what_they_may() -> None:
    turns = Turns()
    turns.learn(survey(*(lane(n) for n in range(3000))), described=True)
    named = 0
    for _ in range(10):
        plan = turns.plan(500)
        turns.taken(plan, [job(flow.lanes[0].id, 5) for flow in plan.flows])
        named = len(plan.flows)
    assert named > 250
    for _ in range(20):
        plan = turns.plan(500)
        share = plan.want // len(plan.flows)
        turns.taken(plan, [job(flow.lanes[0].id, 50 + n) for flow in plan.flows for n in range(share)])
    plan = turns.plan(500)
    assert (len(plan.flows), plan.want) == (10, 500)


def test_a_small_claim_is_never_for_more_than_was_wanted() -> None:
    turns = Turns()
    turns.learn(survey(*(lane(n) for n in range(3000))), described=True)
    for _ in range(10):
        plan = turns.plan(100)
        assert plan.want <= 100
        turns.taken(plan, [job(flow.lanes[0].id, 5) for flow in plan.flows])


def test_a_tenant_of_weight_three_gets_three_jobs_a_turn() -> None:
    turns = Turns()
    turns.learn(survey(lane(1, weight=3), lane(2), lane(3)), described=True)
    names = Counter(flow for flows in visits(turns, 1, 100) for flow in flows)
    assert names == {"q t1": 60, "q t2": 20, "q t3": 20}


def test_a_weight_counts_from_the_next_description_on() -> None:
    turns = Turns()
    turns.learn(survey(lane(1), lane(2)), described=True)
    turns.learn(survey(lane(1, weight=9), lane(2)), described=True)
    names = Counter(flow for flows in visits(turns, 1, 100) for flow in flows)
    assert names == {"q t1": 90, "q t2": 10}


def test_who_has_nothing_loses_no_time_of_others_and_comes_back() -> None:
    turns = Turns()
    turns.learn(survey(*(lane(n) for n in range(5))), described=True)
    for _ in range(5):
        plan = turns.plan(1)
        got = [] if plan.flows[0].name == "q t3" else [job(plan.flows[0].lanes[0].id, 9)]
        turns.taken(plan, got)
    assert "q t3" not in {flow for flows in visits(turns, 1, 20) for flow in flows}
    turns.learn(survey(heads={3: 50}), described=False)
    assert visits(turns, 1, 1) == [["q t3"]], "and is first: it has waited"


def test_a_strict_queue_gives_its_highest_priority_only() -> None:
    turns = Turns()
    lanes = [lane(n, "q", priority=n % 3, one_line=True) for n in range(9)]
    turns.learn(survey(*lanes, *(lane(n) for n in range(20, 40))), described=True)
    plans = [turns.plan(1) for _ in range(25)]
    strict = next(plan for plan in plans if plan.flows[0].name == "q")
    assert sorted(strict.known.lanes) == [2, 5, 8]


def test_lanes_that_are_gone_are_forgotten() -> None:
    turns = Turns()
    turns.learn(survey(*(lane(n) for n in range(1, 4))), described=True)
    turns.learn(survey(lane(2)), described=True)
    assert [number for number, _, _ in turns.known()] == [2]
    assert turns.plan(1).known.lanes in ([], [2])


def test_the_time_before_which_nothing_is_due_moves_with_the_horizon() -> None:
    turns = Turns()
    at = [NOON + timedelta(seconds=n) for n in range(4)]
    turns.learn(survey(seen=(10, 20), at=at[0]), described=False)
    assert turns.since is None
    turns.learn(survey(seen=(19, 30), at=at[1]), described=False)
    assert turns.since is None, "somebody of then may still schedule something"
    turns.learn(survey(seen=(30, 30), at=at[2], due_from=at[3]), described=False)
    assert turns.since == at[0]
    turns.learn(survey(seen=(40, 40), at=at[3], due_from=at[1]), described=False)
    assert turns.since == at[1], "what is there is looked at again"
