"""The lane on which words go to the database: at once while it is free, in batches while it is busy.

There is no timer.  A lone word is sent as soon as it is said; what is said while a batch is under way
is the next batch.  A batch without an answer is said again, in the same words, until it has one.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from windlass.db.call import Call
from windlass.db.link import AsyncLink
from windlass.db.rpc import complete_jobs, fail_jobs, release_jobs, snooze_jobs
from windlass.db.rpc_node import lock_timeout
from windlass.errors import InvalidInput, Unavailable, WindlassError
from windlass.worker.outage import Outage
from windlass.worker.words import Limits, Verb, Word, word_for_error

__all__ = ["Answer", "Reporter"]

MAX_WORDS = 500
MAX_BYTES = 8 * 1024 * 1024
_SETTLE_LOCK_SECONDS = 2.0
_SETTLE_AGAIN_SECONDS = 1.0
_CONTESTED_AGAIN_SECONDS = 2.0
_ORDER: tuple[Verb, ...] = ("complete", "fail", "snooze", "release")


class Answer(NamedTuple):
    """What the database said: `ok` with the job's state, or why the word changed nothing."""

    code: str
    state: str | None = None
    run_at: Any = None


_SUCCEEDED = Answer("ok", "succeeded")
_SKIPPED = Answer("ok", "skipped")
_LOST = Answer("lease_lost")


class Reporter:
    """Sends words; `answered` is called once for each that was said."""

    def __init__(self, link: AsyncLink, answered: Callable[[Word, Answer], None], outage: Outage) -> None:
        self._link = link
        self._answered = answered
        self._outage = outage
        self._said: deque[Word] = deque()
        self._spoken = asyncio.Event()
        self._silent = asyncio.Event()
        self._silent.set()
        self.backlog = 0
        """Words without an answer."""

    def say(self, word: Word) -> None:
        self.backlog += 1
        self._silent.clear()
        self._said.append(word)
        self._spoken.set()

    async def silent(self) -> None:
        """A probe: wait until every word has its answer."""
        await self._silent.wait()

    async def run(self) -> None:
        """Send until canceled."""
        while True:
            await self._spoken.wait()
            batch = self._next_batch()
            for verb in _ORDER:
                words = [
                    word for word in batch if word.verb == verb and not (word.finished or word.contested)
                ]
                if words:
                    await self._send(verb, words)
            for word in batch:
                if word.finished:
                    await self._settle(word)
                elif word.contested:
                    await self._send(word.verb, [word])

    def _next_batch(self) -> list[Word]:
        batch: list[Word] = []
        size = 0
        while self._said and len(batch) < MAX_WORDS and size < MAX_BYTES:
            word = self._said.popleft()
            size += len(word.result or "") + len(word.error or "")
            batch.append(word)
        if not self._said:
            self._spoken.clear()
        return batch

    async def _send(self, verb: Verb, words: list[Word], reduced: int = 0) -> None:
        """Say these until answered.  Where one is refused as malformed, the others must not suffer."""
        while True:
            try:
                answers = await self._link.run(_call(verb, words))
            except InvalidInput as error:
                if len(words) == 1:
                    return await self._send_reduced(words[0], error, reduced + 1)
                half = len(words) // 2
                await self._send(verb, words[:half])
                return await self._send(verb, words[half:])
            except WindlassError as error:
                if _lock_not_free(error):
                    return await self._send_apart(words)
                await self._try_later(words, error)
            else:
                self._outage.over()
                return self._tell(verb, words, answers)

    async def _send_apart(self, words: list[Word]) -> None:
        """Somebody's open transaction holds one of these jobs: the others must not wait for it."""
        if len(words) == 1:
            words[0].contested = True
            asyncio.get_running_loop().call_later(_CONTESTED_AGAIN_SECONDS, self._say_again, words[0])
            return
        for word in words:
            await self._send(word.verb, [word])

    async def _try_later(self, words: list[Word], error: WindlassError) -> None:
        for word in words:
            word.repeated = True
        await asyncio.sleep(self._outage.failed(error))

    async def _send_reduced(self, word: Word, error: InvalidInput, reduced: int) -> None:
        """The database cannot keep this result or error: the attempt fails, for that reason, instead."""
        if reduced > 2:
            self._answer(word, Answer(error.code))
            return
        less = word_for_error(word.job, error, Limits(error_bytes=1024))
        less.outcome, less.seconds, less.repeated = word.outcome, word.seconds, word.repeated
        if reduced == 1:
            less.cost = word.cost
        await self._send("fail", [less], reduced)

    async def _settle(self, word: Word) -> None:
        """The handler's own transaction has the first word, and this one counts only if it was rolled back.

        Said with success already, the job refuses it as any late word; whether it was this very token that
        said so is then asked.  While that transaction is open there is no answer, so nobody waits long.
        """
        try:
            answers = await self._link.run(
                _call(word.verb, [word]), first=[lock_timeout(_SETTLE_LOCK_SECONDS)]
            )
            answer = Answer(answers[0].code, answers[0].state, answers[0].run_at)
            if answer.code != "ok":
                job = word.job
                refused = await self._link.run(complete_jobs([job.token], [job.id], tenants=[job.tenant_id]))
                answer = _LOST if refused else _SUCCEEDED
        except InvalidInput as error:
            await self._send_reduced(word, error, 1)
        except WindlassError as error:
            word.repeated = True
            wait = _SETTLE_AGAIN_SECONDS if _lock_not_free(error) else self._outage.failed(error)
            asyncio.get_running_loop().call_later(wait, self._say_again, word)
        else:
            self._outage.over()
            self._answer(word, answer)

    def _say_again(self, word: Word) -> None:
        self._said.append(word)
        self._spoken.set()

    def _tell(self, verb: Verb, words: list[Word], answers: list[Any]) -> None:
        if verb != "complete":
            for word, answer in zip(words, answers, strict=True):
                self._answer(word, Answer(answer.code, answer.state, answer.run_at))
            return
        refused = {answer.job_id for answer in answers}
        latest = {word.job.id: word.job.version for word in words} if refused else {}
        for word in words:
            if word.job.id not in refused:
                self._answer(word, _SUCCEEDED if word.state == "succeeded" else _SKIPPED)
            elif len(latest) < len(words) and word.job.version == latest[word.job.id] and not word.repeated:
                # Two attempts of one job in one batch, and the answer names only the job: ask again.
                word.repeated = True
                self._say_again(word)
            else:
                self._answer(word, _LOST)

    def _answer(self, word: Word, answer: Answer) -> None:
        self.backlog -= 1
        if not self.backlog:
            self._silent.set()
        self._answered(word, answer)


def _lock_not_free(error: WindlassError) -> bool:
    """Words wait half a second at most for a lock (see fail_jobs), and are then to be said again."""
    return isinstance(error, Unavailable) and error.details.get("sqlstate") == "55P03"


def _call(verb: Verb, words: list[Word]) -> Call[Any]:
    tokens = [word.job.token for word in words]
    jobs = [word.job.id for word in words]
    costs = [word.cost for word in words] if any(word.cost is not None for word in words) else None
    if verb == "release":
        return release_jobs(tokens, jobs)
    if verb == "snooze":
        return snooze_jobs(tokens, jobs, [word.delay or 0.0 for word in words], costs)
    if verb == "fail":
        errors = [word.error for word in words]
        outcomes = [word.outcome for word in words]
        return fail_jobs(tokens, jobs, errors, outcomes, [word.delay for word in words], costs)
    results = [word.result for word in words] if any(word.result is not None for word in words) else None
    states = [word.state for word in words] if any(word.state != "succeeded" for word in words) else None
    tenants = [word.job.tenant_id for word in words] if any(word.repeated for word in words) else None
    return complete_jobs(tokens, jobs, results, costs, states, tenants)
