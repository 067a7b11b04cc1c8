"""The loop that claims: ahead of need while jobs are quick, no more than can start while they are slow."""

import asyncio
import math
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from windlass.db.call import Call
from windlass.db.hot import ready
from windlass.db.link import AsyncLink
from windlass.db.rpc import Claimed, claim_jobs, survey_lanes
from windlass.db.rpc_node import undurable
from windlass.errors import WindlassError
from windlass.model import ClaimedJob
from windlass.worker.leases import elapsed_clock
from windlass.worker.outage import Outage
from windlass.worker.patience import Bell
from windlass.worker.turns import Plan, Turns
from windlass.worker.wish import FEW, Wish

__all__ = ["Claims"]

MAX_BATCH = 500
_SHED_SECONDS = 1.0
_FIRST_LULL_SECONDS, _LAST_LULL_SECONDS = 0.03, 0.3
_SURVEY_SECONDS = 0.05
_SURVEY_SHARE = 0.05
"""The part of the time that surveys may take."""
_DESCRIBE_SECONDS = 2.0
_TRUSTED_SECONDS = 60.0
_SHORTEST_SECONDS, _SOON_SECONDS = 0.001, 0.1
_ALL_SECONDS = 30.0
"""After this time everything is looked at again, whatever is known: should a clock have gone backwards."""


class _Word(NamedTuple):
    """A claim as it is sent."""

    plan: Plan
    call: Call[Claimed]
    whole: bool
    """Whether it looks at everything, whatever is known."""
    wait: bool | None
    """What it says of notices: see Wish."""
    basis: Turns
    """What it was made from."""


class Claims:
    """Asks for jobs while `demand` says how many, and hands them to `admit`.

    An empty answer means that there is no more for now: it then waits for a notice, and asks without one
    after the poll interval.  The wish for notices is written by the claim itself that finds nothing, or
    little, so the first one is followed by one more, for what came in between.  An enqueue that looked for
    wishes before that, and commits after it, sends no notice and is not found either: after work was found
    the first waits are therefore short.  Where many notices come the wish is taken back, and the waits are
    short until fewer would come.
    """

    def __init__(
        self,
        link: AsyncLink,
        node_id: UUID,
        queues: Sequence[str],
        kinds: Sequence[str],
        *,
        lease_seconds: float,
        poll_seconds: float,
        durable: bool,
        pooled: bool,
        demand: Callable[[], int],
        room: Callable[[], int],
        admit: Callable[[list[ClaimedJob], float], None],
        shed: Callable[[], None],
        listening: Callable[[], bool],
        outage: Outage,
    ) -> None:
        self._link = link
        self._node_id = node_id
        self._queues = queues
        self._kinds = kinds
        self._lease_seconds = lease_seconds
        self._poll_seconds = poll_seconds
        # A pooler hides a crash or a failover, after which rows may be back that were seen to be gone.
        self._durable = durable or pooled
        self._trusted_seconds = _TRUSTED_SECONDS if pooled else math.inf
        self._trusted_until = elapsed_clock() + self._trusted_seconds
        self._demand = demand
        self._room = room
        self._admit = admit
        self._shed = shed
        self._listening = listening
        self._outage = outage
        self._woken = Bell()
        self._dry = False
        self._lull = _FIRST_LULL_SECONDS
        self._turns = Turns()
        self._opened = 1
        """The connection from which `_turns` are known."""
        self._full = False
        """Whether the last claim may have left something that is not shared out yet."""
        self._look_at_all = False
        self._wish = Wish()
        self._again: float | None = None
        self._word: _Word | None = None
        self._survey_at = self._describe_at = self._all_at = 0.0
        self.resting = False
        """Whether it waits for a notice or for the next poll."""
        self._stopping = False
        self._answered = asyncio.Condition()
        self.asked = self.answered_empty = 0
        """The number of the latest claim, and of the latest that found nothing."""

    def wake(self) -> None:
        """There may be new work."""
        self._dry = False
        self._woken.ring()

    def hear(self, *, own: bool) -> None:
        """A notice for this node, or for another one."""
        self._wish.flood.note_notice(elapsed_clock(), own=own)
        if own:
            self.wake()

    def make_room(self) -> None:
        """A slot is free; worth a claim only where the last one did not come back short."""
        if not self._dry:
            self._woken.ring()

    def stop(self) -> None:
        """No further claim; one that is under way is still admitted."""
        self._stopping = True
        self._woken.ring()

    async def found_nothing(self) -> None:
        """A probe: wait for a claim that begins after this call and finds nothing."""
        async with self._answered:
            after = self.asked
            self.wake()
            await self._answered.wait_for(lambda: self.answered_empty > after or self._stopping)

    async def run(self) -> None:
        """Claim until stopped."""
        while not self._stopping:
            self._woken.clear()
            want = self._demand()
            if want > 0:
                await self._ask(want)
            else:
                self._dry = False
                self._shed()
                await self._woken.wait(_SHED_SECONDS)
        async with self._answered:
            self._answered.notify_all()

    async def _ask(self, want: int) -> None:
        """One claim, and what follows from its answer."""
        self._dry = True  # a notice that comes while the claim is under way takes this back
        if (self._full or self._turns.in_doubt) and elapsed_clock() >= self._survey_at:
            await self._survey()
        self._doubt_old_knowledge()
        self._wish.flood.judge(elapsed_clock())
        word, stood = self._word_for(want), self._wish.stands
        plan, got = word.plan, await self._claim(word)
        if got != 0:
            self._note_found(got, plan)
        if got is not None and (pause := self._pause_after(got, plan)) is not None:
            self._dry = True  # a free slot is no reason to ask sooner
            await self._woken.wait(pause)
        elif got == 0:
            await self._go_on_without(plan, stood)

    def _note_found(self, got: int | None, plan: Plan) -> None:
        self._look_at_all = self._dry = False
        self._full = got is not None and (got >= plan.want or plan.known.only)

    async def _go_on_without(self, plan: Plan, asked_for_notices: bool) -> None:
        """Nothing was found: look elsewhere, look once more now that notices are asked for, or rest."""
        if not self._look_at_all and (plan.known.only or self._turns.in_doubt):
            self._look_at_all, self._dry = True, False
            await self._survey()
        elif self._listening() and not (asked_for_notices or self._wish.flood.lasts):
            self._dry = False
        elif self._dry:
            await self._rest()

    def _pause_after(self, got: int, plan: Plan) -> float | None:
        """Where this was all: until a rate lets more start, or until some more have come together."""
        if plan.known.only or got >= plan.want:
            return None
        if self._again is not None and self._again < _SOON_SECONDS:
            return max(self._again, _SHORTEST_SECONDS)
        return self._wish.flood.look_seconds if got and self._wish.flood.lasts else None

    def _doubt_old_knowledge(self) -> None:
        now = elapsed_clock()
        if now >= self._trusted_until:
            self._turns, self._trusted_until = Turns(), now + self._trusted_seconds

    def _word_for(self, want: int) -> "_Word":
        """The claim that was put into words while there was nothing to do, if it still fits, or another."""
        word, self._word = self._word, None
        fits = word is not None and want <= 2 * word.plan.want <= 2 * want and word.basis is self._turns
        if word is not None and fits and word.wait == self._wait_of(word.plan):
            return word
        return self._put(self._turns.plan(want, all_lanes=self._look_at_all))

    def _put(self, plan: Plan) -> "_Word":
        whole, wait = elapsed_clock() >= self._all_at, self._wait_of(plan)
        call = claim_jobs(
            self._node_id,
            self._queues,
            self._kinds,
            plan.want,
            self._lease_seconds,
            wait=wait,
            known=plan.known._replace(since=None) if whole else plan.known,
        )
        return _Word(plan, call if self._durable else undurable(call), whole, wait, self._turns)

    def _wait_of(self, plan: Plan) -> bool | None:
        """Of a claim that does not look everywhere nobody knows whether there is nothing more."""
        wait = self._listening() and self._wish.to_say(elapsed_clock())
        return wait and not plan.known.only

    async def _claim(self, word: "_Word") -> int | None:
        self.asked += 1
        plan, number, since = word.plan, self.asked, elapsed_clock()
        if word.whole:
            self._all_at = since + _ALL_SECONDS
        try:
            jobs = await self._link.run(word.call)
        except WindlassError as error:
            self._turns = Turns()  # after a crash of the server claims may be undone
            self._wish.forget()
            await self._woken.wait(self._outage.failed(error))
            return None
        self._wish.heard(word.wait, len(jobs), plan.want, since)
        if jobs:
            self._lull = _FIRST_LULL_SECONDS
            self._admit(jobs, since)
            if len(jobs) < FEW:
                await asyncio.sleep(0)  # a lone job begins before anything else is seen to
        self._outage.over()
        if not self._reconnected():
            self._turns.taken(plan, jobs)
        self._again = jobs.again_seconds
        if not (jobs or plan.known.only):
            async with self._answered:
                self.answered_empty = number
                self._answered.notify_all()
        return len(jobs)

    async def _survey(self) -> bool:
        """Learn which lanes have work; whether there is any that the last claim did not look at."""
        since = elapsed_clock()
        describe = since >= self._describe_at
        known = self._turns.known()
        call = survey_lanes(
            self._node_id, self._queues, self._kinds, known, since=self._turns.since, describe=describe
        )
        try:
            self._word = None  # what was worded before knows less
            survey = await self._link.run(call)
        except WindlassError as error:
            self._turns = Turns()
            await self._woken.wait(self._outage.failed(error))
            return False
        now = elapsed_clock()
        self._survey_at = now + max(_SURVEY_SECONDS, (now - since) / _SURVEY_SHARE)
        if describe:
            self._describe_at = now + max(_DESCRIBE_SECONDS, (now - since) / _SURVEY_SHARE)
        return not self._reconnected() and self._turns.learn(survey, described=describe)

    def _reconnected(self) -> bool:
        """Whether the link has another connection since, whoever noticed: nothing is known any more then."""
        if self._link.opened == self._opened:
            return False
        self._turns, self._word, self._opened = Turns(), None, self._link.opened
        self._wish.forget()
        return True

    async def _rest(self) -> None:
        if self._wish.flood.lasts:
            longest = self._wish.flood.look_seconds
        elif self._lull < min(_LAST_LULL_SECONDS, self._poll_seconds):
            longest, self._lull = self._lull, 2 * self._lull
        else:
            longest, self.resting = self._poll_seconds, True
        seconds = longest * random.uniform(0.9, 1.0)  # apart enough that workers started together part
        if self._again is not None:  # not before a rate lets the next job start, and not long after that
            seconds = min(seconds, max(self._again, _SHORTEST_SECONDS))
        # What a lone job would wait for is done before it comes; for no more than will still be wanted then.
        if (want := min(self._demand(), self._room())) > 0:
            word = self._put(self._turns.plan(want, all_lanes=True))
            self._word = word._replace(call=ready(word.call))
        await self._woken.wait(seconds)
        self.resting = False
