"""The parts that run on this node, and the words that are said about them."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from uuid import UUID

from windlass.db.link import AsyncLink
from windlass.db.rpc_cluster import PartWord, end_parts
from windlass.errors import InvalidInput, WindlassError
from windlass.model import ClaimedJob
from windlass.worker.attempt import Attempt
from windlass.worker.attempts import Attempts
from windlass.worker.leases import Leases, elapsed_clock
from windlass.worker.outage import Outage
from windlass.worker.patience import unless, within
from windlass.worker.registry import Registry
from windlass.worker.signals import Signals
from windlass.worker.words import Limits, Word

__all__ = ["Parts"]

_UNWIND_SECONDS = 0.5
_REPORT_SECONDS = 5.0


class Parts:
    """Runs claimed parts as any job's attempts are run, and reports each by itself until it is answered."""

    def __init__(
        self,
        link: AsyncLink,
        registry: Registry,
        leases: Leases,
        *,
        concurrency: int,
        node_name: str,
        node_id: UUID,
        limits: Limits,
        signals: Signals,
        freed: Callable[[], None],
    ) -> None:
        self._link = link
        self._leases = leases
        self._concurrency = concurrency
        self._signals = signals
        self._outage = Outage("reporting parts", signals)
        self._attempts = Attempts(
            registry,
            concurrency,
            node_name,
            limits,
            signals.fault,
            say=self._say,
            ended=lambda _: freed(),
            node_id=node_id,
        )
        self._loop = asyncio.get_running_loop()
        self._reports: set[asyncio.Task[None]] = set()
        self._admitted = 0
        self._claimed = 0
        self.done = self.lost = 0
        """Words that were accepted, and that were not."""

    @property
    def running(self) -> list[ClaimedJob]:
        return self._attempts.running

    @property
    def stuck(self) -> int:
        """Handlers that run on although their parts were ended."""
        return self._attempts.stuck

    @property
    def empty(self) -> bool:
        """Whether no part is anywhere in here."""
        return not (self._attempts.busy or self._reports or self._claimed > self._admitted)

    def room(self) -> int:
        """From the pulse: how many more could start now."""
        return self._concurrency - self._attempts.busy - (self._claimed - self._admitted)

    def expect(self, parts: list[ClaimedJob], since: float) -> None:
        """From the pulse: these were claimed; they are started on the event loop."""
        self._claimed += len(parts)
        self._leases.hold(parts, since)
        self._loop.call_soon_threadsafe(self._admit, parts)

    def _admit(self, parts: list[ClaimedJob]) -> None:
        for part in parts:
            self._admitted += 1
            lease = self._leases.get(part.token_bytes, elapsed_clock())
            if lease is None:
                self._lose(part)
            else:
                self._signals.job("part.started", part, logging.DEBUG)
                self._attempts.start(part, lease)

    def hear_lost(self, tokens: Iterable[bytes]) -> None:
        """From the pulse: these are no longer ours."""
        lost = list(tokens)
        self._leases.lose(lost)
        for attempt in self._attempts.matching(lost):
            attempt.warn("lease_lost")  # at once: the loop may be blocked by a handler
            self._loop.call_soon_threadsafe(self._attempts.stop, attempt, "lease_lost")

    def _say(self, attempt: Attempt, word: Word | None) -> None:
        if word is None:
            self._lose(attempt.job)
            return
        task = self._loop.create_task(self._report(word), name="windlass part")
        self._reports.add(task)
        task.add_done_callback(self._reports.discard)

    def _lose(self, part: ClaimedJob) -> None:
        self._leases.let_go([part.token_bytes])
        self.lost += 1
        self._signals.job("part.lost", part, logging.WARNING)

    async def _report(self, word: Word) -> None:
        said = _part_word(word)
        try:
            code, state = await self._say_until_answered(said)
        except InvalidInput as error:  # nothing that could be said again would be accepted
            self._signals.fault("reporting a part", error)
            code, state = "invalid_input", None
        if code != "ok":
            self._lose(word.job)
            return
        self._leases.let_go([word.job.token_bytes])
        self.done += 1
        level = logging.WARNING if word.verb == "fail" else logging.INFO
        self._signals.job(f"part.{said.outcome}", word.job, level, seconds=word.seconds, state=state)

    async def _say_until_answered(self, said: PartWord) -> tuple[str, str | None]:
        while True:
            try:
                answers = await self._link.run(end_parts([said]))
            except InvalidInput:
                raise
            except WindlassError as error:
                await asyncio.sleep(self._outage.failed(error))
            else:
                self._outage.over()
                return answers[said.job_id]

    async def stop(self, grace_seconds: float, hurry: asyncio.Event) -> None:
        """Wait for what runs; after the grace period, or in a hurry, give it back."""
        await within(grace_seconds, unless(hurry, self._attempts.settled()))
        self._attempts.stop_all("shutdown")
        await within(_UNWIND_SECONDS, self._attempts.settled())
        self._attempts.give_up_all()
        if self._reports:
            patience = _UNWIND_SECONDS if hurry.is_set() else _REPORT_SECONDS
            await asyncio.wait(self._reports, timeout=patience)
        for task in tuple(self._reports):
            task.cancel()
        await asyncio.gather(*self._reports, return_exceptions=True)
        self._attempts.close()


def _part_word(word: Word) -> PartWord:
    outcomes = {"complete": word.state, "fail": word.outcome, "snooze": "snoozed", "release": "released"}
    return PartWord(word.job.token, word.job.id, outcomes[word.verb], word.result, word.error, word.delay)
