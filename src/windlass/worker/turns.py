"""Whose turn it is, and where in each line to look: what a worker remembers from claim to claim.

Where a claim has room for a turn of everybody with work (a tenth of it by weight, QUANTUM at most), SQL
shares it out in single rounds; where not, they take their turns here, in the same order.  docs/fairness.md
has the bound.  The marks spare the database what it would step over otherwise: a row once claimed stays in
the index for as long as anybody's snapshot may see it.

Nothing here decides who gets a job, and a mark never hides one for good: what appears behind it, committed
late or let go by somebody, is seen by the next survey (survey_lanes.sql says why that is so).
"""

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from windlass.db.rpc import Known, OpenLane, Survey
from windlass.model import ClaimedJob
from windlass.worker.lane import Flow, Lane

__all__ = ["Plan", "Turns"]

MAX_KNOWN = 2000
MAX_LANES = 500
"""How many lanes one claim names; beyond that they take turns too."""
QUANTUM = 50
"""Jobs per turn and weight where a claim is for 500: each turn has a lease of its own, for however many."""
STRIDE = 64
"""Jobs taken from a lane before its mark follows: stepping over few is quick, and a mark wants surveys."""


class Plan(NamedTuple):
    """One claim: for how many jobs, what to tell the database, and whose turn it is."""

    want: int
    known: Known
    flows: tuple[Flow, ...]


class Turns:
    def __init__(self) -> None:
        self._lanes: dict[int, Lane] = {}
        self._marked: dict[int, Lane] = {}
        self._flows: dict[str, Flow] = {}
        self._line: deque[Flow] = deque()
        self._weight = 0
        self._brought = float(QUANTUM)
        """What a turn brings of late, by weight."""
        self._since: datetime | None = None
        self._noted: datetime | None = None
        self._pending: tuple[int, datetime] | None = None
        self.in_doubt = False
        """Whether something may still appear behind a mark."""

    # Claims -------------------------------------------------------------------------------------------------

    def plan(self, want: int, *, all_lanes: bool = False) -> Plan:
        """A claim of up to `want` jobs: from all lanes, unless more have work than it has turns to give.
        It is for whole turns, so that nobody gets more than their part of a round.
        """
        if not all_lanes and (self._weight * _quantum(want) > want or len(self._lanes) > MAX_LANES):
            flows, lanes = self._next_flows(want)
            if flows:
                whole = sum(flow.credit for flow in flows)
                if len(flows) == 1:
                    whole = min(want, whole)
                return Plan(whole, self._tell(lanes, only=True), flows)
        whole = want - want % self._weight if 0 < self._weight <= want else want
        lanes = [lane for flow in self._line for lane in flow.lanes]
        others = [lane for lane in self._marked.values() if not (lane.flow and lane.flow.queued)]
        return Plan(whole, self._tell(lanes + others, only=False), ())

    def _tell(self, lanes: Sequence[Lane], *, only: bool) -> Known:
        return Known([lane.id for lane in lanes], [lane.mark for lane in lanes], only, self._since)

    def _next_flows(self, want: int) -> tuple[tuple[Flow, ...], list[Lane]]:
        """The flows at the head of the line whose turns fit into a claim, or a part of the first one's.

        Where tenants have few jobs each, a turn brings less than it may: a large claim is then for more
        turns, which would fill it if each brought what turns brought of late, and twice that at most.
        """
        quantum, fill = _quantum(want), 1.0
        if quantum == QUANTUM:
            quantum = min(QUANTUM, max(2, round(2 * self._brought)))
            fill = min(1.0, max(0.5, self._brought / quantum))
        flows: list[Flow] = []
        lanes: list[Lane] = []
        left = want / fill
        while self._line and left > 0 and len(lanes) < MAX_LANES:
            flow = self._line[0]
            mine = _wet_lanes(flow)
            if not mine:
                self._leave(self._line.popleft())
                continue
            begun = flow.credit > 0
            credit = flow.credit if begun else flow.weight * quantum
            if flows and (begun or credit > left):
                break
            flow.credit = credit
            flows.append(self._line.popleft())
            lanes += mine
            left -= credit
            if begun:
                break
        self._line.extend(flows)
        return tuple(flows), lanes

    def taken(self, plan: Plan, jobs: Sequence[ClaimedJob]) -> None:
        """Note what a claim brought."""
        got: dict[int, int] = {}
        for job in jobs:
            lane = self._lanes.get(job.lane_id)
            if lane is None:
                lane = self._lanes[job.lane_id] = Lane(job.lane_id)
            lane.ahead += 1
            if lane.ahead >= STRIDE or plan.known.only:  # where it takes turns there are surveys anyway
                self._mark(lane, job.seq)
                self.in_doubt = True
            got[lane.id] = got.get(lane.id, 0) + 1
        if len(jobs) < plan.want and not plan.flows:  # there was no more in these
            for lane_id in {*plan.known.lanes, *got}:
                self._lanes[lane_id].wet = False
        elif not plan.flows:
            self._count_in(plan.want, got)
        if len(self._lanes) > MAX_KNOWN and not self._flows:
            self._lanes = dict(self._marked)  # of the others nothing is known that is worth keeping
        if plan.flows:
            self._end_turns(plan, len(jobs), got)

    def _count_in(self, want: int, got: Mapping[int, int]) -> None:
        """After a full claim from all lanes: who gave less than their rounds has no more, and is left out of
        them.  Else a round of the others would not be whole, and somebody's turn would come twice.
        """
        for lane_id in got:
            lane = self._lanes[lane_id]
            if lane.flow is None:
                return  # somebody new had a part, and the next survey says who
            lane.wet = True
            if not lane.flow.queued:
                self._join(lane.flow)
        rounds = want // self._weight if self._weight else 0
        for flow in list(self._line):
            if sum(got.get(lane.id, 0) for lane in flow.lanes) < rounds * flow.weight:
                for lane in flow.lanes:
                    lane.wet = False
                self._line.remove(flow)
                self._leave(flow)

    def _end_turns(self, plan: Plan, count: int, got: Mapping[int, int]) -> None:
        looked_at = set(plan.known.lanes)
        if len(plan.flows) > 1:
            each = count / sum(flow.weight for flow in plan.flows)
            self._brought += (each - self._brought) / 2
        for flow in plan.flows:
            brought = sum(got.get(lane.id, 0) for lane in flow.lanes)
            if brought < min(flow.credit, plan.want):  # there was no more in it
                for lane in flow.lanes:
                    lane.wet = lane.wet and lane.id not in looked_at
            flow.credit = max(0, flow.credit - brought)
        if len(plan.flows) == 1 and plan.flows[0].credit and count == plan.want:
            self._line.rotate(1)  # its turn is not over: it was put last, and is first again
        else:
            for flow in plan.flows:
                flow.credit = 0

    # Surveys ------------------------------------------------------------------------------------------------

    @property
    def since(self) -> datetime | None:
        return self._since

    def known(self) -> list[tuple[int, int, int | None]]:
        """What to tell a survey: of a lane that ran dry any row is news, of another those behind its mark."""
        return [(lane.id, lane.floor, lane.mark if lane.wet else None) for lane in self._lanes.values()]

    def learn(self, survey: Survey, *, described: bool) -> bool:
        """Take in what a survey saw that was given `known`, with no claim since; whether there is news."""
        settled = self._pending is not None and survey.seen_from >= self._pending[0]
        for lane in self._lanes.values():
            self._correct(lane, survey.heads.get(lane.id), settled)
        if self._pending is not None and settled:
            then = self._pending[1]
            self._since = then if survey.due_from is None else min(then, survey.due_from)
        if self._noted is not None and (settled or self._pending is None):
            self._pending = (survey.number, self._noted)
            for lane in self._lanes.values():
                lane.pending = lane.noted
        if described:
            self._drop_all_but({told.lane_id for told in survey.lanes})
        for told in survey.lanes:
            self._describe(told)
        for flow in self._flows.values():
            if not flow.queued and any(lane.wet for lane in flow.lanes):
                self._join(flow)
        self._noted, self.in_doubt = survey.seen_at, False
        for lane in self._lanes.values():
            lane.noted = lane.mark
            self.in_doubt = self.in_doubt or lane.floor < lane.mark
        return bool(survey.heads) or any(told.head is not None for told in survey.lanes)

    def _mark(self, lane: Lane, seq: int) -> None:
        lane.mark, lane.ahead = seq, 0
        if seq:
            self._marked[lane.id] = lane

    def _correct(self, lane: Lane, head: int | None, settled: bool) -> None:
        if settled:
            reached = lane.pending if head is None else min(lane.pending, head - 1)
            lane.floor = max(lane.floor, reached)
        if head is not None:
            self._mark(lane, head - 1)
            lane.pending = min(lane.pending, lane.mark)  # behind it nobody has looked
            lane.noted = min(lane.noted, lane.mark)
            lane.wet = True

    def _describe(self, told: OpenLane) -> None:
        lane = self._lanes.get(told.lane_id)
        if lane is None:
            lane = self._lanes[told.lane_id] = Lane(told.lane_id)
            lane.wet = told.head is not None
            self._mark(lane, (told.head or 1) - 1)
        lane.priority = told.priority
        flow = self._flows.get(told.flow)
        if flow is None:
            flow = self._flows[told.flow] = Flow(told.flow, told.weight, told.one_line)
        if flow.queued:
            self._weight += told.weight - flow.weight
        flow.weight, flow.one_line = told.weight, told.one_line
        if lane.flow is not flow:
            if lane.flow is not None:
                lane.flow.lanes.remove(lane)
            lane.flow = flow
            flow.lanes.append(lane)

    def _drop_all_but(self, lane_ids: set[int]) -> None:
        for lane in [lane for lane in self._lanes.values() if lane.id not in lane_ids]:
            del self._lanes[lane.id]
            self._marked.pop(lane.id, None)
            if lane.flow is not None:
                lane.flow.lanes.remove(lane)
        for flow in [flow for flow in self._flows.values() if not flow.lanes and not flow.queued]:
            del self._flows[flow.name]

    def _join(self, flow: Flow) -> None:
        """Whoever has just got work goes first: it has waited for its turn already."""
        flow.queued = True
        flow.credit = 0
        self._line.appendleft(flow)
        self._weight += flow.weight

    def _leave(self, flow: Flow) -> None:
        flow.queued = False
        self._weight -= flow.weight


def _quantum(want: int) -> int:
    """Jobs per turn and weight: one where a claim is small, so that it reaches as many as it can."""
    return min(QUANTUM, max(1, want // 10))


def _wet_lanes(flow: Flow) -> list[Lane]:
    """The lanes of a flow worth a look; of a strict queue those of the highest priority."""
    wet = [lane for lane in flow.lanes if lane.wet]
    if not flow.one_line or not wet:
        return wet
    top = max(lane.priority for lane in wet)
    best = [lane for lane in wet if lane.priority == top]
    if len(best) > MAX_LANES:  # those looked at now stand behind the others next time
        seen = set(best[:MAX_LANES])
        flow.lanes.sort(key=lambda lane: lane in seen)
    return best[:MAX_LANES]
