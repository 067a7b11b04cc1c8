"""The lane on which words go to the database: at once while it is free, in batches while it is busy.

There is no timer.  A lone word is sent as soon as it is said; what is said while a batch is under way
is the next batch.  A batch without an answer is said again, in the same words, until it has one.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from windlass.db.call import Call
from windlass.db.link import AsyncLink
from windlass.db.rpc import complete_jobs, fail_jobs, release_jobs, snooze_jobs
from windlass.errors import InvalidInput, Unavailable, WindlassError
from windlass.worker.outage import Outage
from windlass.worker.words import Limits, Verb, Word, word_for_error

__all__ = ["Answer", "Reporter"]

T = TypeVar("T")

MAX_WORDS = 500
MAX_BYTES = 8 * 1024 * 1024
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
    """Sends words; `answered` is called once for each that was said, with those that got the same answer."""

    def __init__(
        self, link: AsyncLink, answered: Callable[[Sequence[Word], Answer], None], outage: Outage
    ) -> None:
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
        if not self.backlog:
            self._silent.clear()
        self.backlog += 1
        self._say_again(word)

    async def silent(self) -> None:
        """A probe: wait until every word has its answer."""
        await self._silent.wait()

    async def run(self) -> None:
        """Send until canceled."""
        while True:
            await self._spoken.wait()
            await self._send_batch()  # apart from the loop, which would hold on to the batch while it waits

    async def _send_batch(self) -> None:
        together, apart = self._next_batch()
        for verb in _ORDER:
            if verb in together:
                await self._send(verb, together[verb])
        for word in apart:
            if word.finished:
                await self._settle(word)
            else:
                await self._send(word.verb, [word])

    def _next_batch(self) -> tuple[dict[Verb, list[Word]], list[Word]]:
        """What is said next: words that can go together, by their verbs, and those that go one by one."""
        together: dict[Verb, list[Word]] = {}
        apart: list[Word] = []
        count = size = 0
        while self._said and count < MAX_WORDS and size < MAX_BYTES:
            word = self._said.popleft()
            count += 1
            if word.result is not None or word.error is not None:
                size += len(word.result or "") + len(word.error or "")
            if word.finished or word.contested:
                apart.append(word)
            elif word.verb in together:
                together[word.verb].append(word)
            else:
                together[word.verb] = [word]
        if not self._said:
            self._spoken.clear()
        return together, apart

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
            self._answer([word], Answer(error.code))
            return
        less = word_for_error(word.job, error, Limits(error_bytes=1024))
        less.outcome, less.seconds, less.repeated = word.outcome, word.seconds, word.repeated
        await self._send("fail", [less], reduced)

    async def _settle(self, word: Word) -> None:
        """The handler's own transaction has the first word, and this one counts only if it was rolled back.

        Said with success already, the job refuses it as any late word; whether it was this very token that
        said so is then asked.  While that transaction is open there is no answer: the function waits half a
        second for one, and it is tried again.
        """
        try:
            answers = await self._link.run(_call(word.verb, [word]))
            answer = Answer(answers[0].code, answers[0].state, answers[0].run_at)
            if answer.code != "ok":
                job = word.job
                refused = await self._link.run(
                    complete_jobs([job.token_bytes], [job.id_bytes], tenants=[job.tenant_bytes])
                )
                answer = _LOST if refused else _SUCCEEDED
        except InvalidInput as error:
            await self._send_reduced(word, error, 1)
        except WindlassError as error:
            word.repeated = True
            wait = _SETTLE_AGAIN_SECONDS if _lock_not_free(error) else self._outage.failed(error)
            asyncio.get_running_loop().call_later(wait, self._say_again, word)
        else:
            self._outage.over()
            self._answer([word], answer)

    def _say_again(self, word: Word) -> None:
        if not self._said:
            self._spoken.set()
        self._said.append(word)

    def _tell(self, verb: Verb, words: list[Word], answers: list[Any]) -> None:
        if verb != "complete":
            for word, answer in zip(words, answers, strict=True):
                self._answer([word], Answer(answer.code, answer.state, answer.run_at))
            return
        if answers:
            words = self._without_refused(words, {answer.job_id.bytes for answer in answers})
        skipped = [word for word in words if word.state == "skipped"]
        if skipped:
            words = [word for word in words if word.state != "skipped"]
            self._answer(skipped, _SKIPPED)
        self._answer(words, _SUCCEEDED)

    def _without_refused(self, words: list[Word], refused: set[bytes]) -> list[Word]:
        latest = {word.job.id_bytes: word.job.version for word in words}
        taken = []
        for word in words:
            job = word.job
            if job.id_bytes not in refused:
                taken.append(word)
            elif len(latest) < len(words) and job.version == latest[job.id_bytes] and not word.repeated:
                # Two attempts of one job in one batch, and the answer names only the job: ask again.
                word.repeated = True
                self._say_again(word)
            else:
                self._answer([word], _LOST)
        return taken

    def _answer(self, words: Sequence[Word], answer: Answer) -> None:
        if not words:
            return
        self.backlog -= len(words)
        if not self.backlog:
            self._silent.set()
        self._answered(words, answer)


def _lock_not_free(error: WindlassError) -> bool:
    """Words wait half a second at most for a lock (see fail_jobs), and are then to be said again."""
    return isinstance(error, Unavailable) and error.details.get("sqlstate") == "55P03"


def _call(verb: Verb, words: list[Word]) -> Call[Any]:
    tokens = [word.job.token_bytes for word in words]
    jobs = [word.job.id_bytes for word in words]
    if verb == "release":
        return release_jobs(tokens, jobs)
    if verb == "snooze":
        return snooze_jobs(tokens, jobs, [word.delay or 0.0 for word in words])
    if verb == "fail":
        errors = [word.error for word in words]
        outcomes = [word.outcome for word in words]
        return fail_jobs(tokens, jobs, errors, outcomes, [word.delay for word in words])
    results = _unless_all_none([word.result for word in words])
    states = [word.state for word in words] if any(word.state != "succeeded" for word in words) else None
    tenants = [word.job.tenant_bytes for word in words] if any(word.repeated for word in words) else None
    return complete_jobs(tokens, jobs, results, None, states, tenants)


def _unless_all_none(values: list[T | None]) -> list[T | None] | None:
    return None if values.count(None) == len(values) else values
