"""The lane on which words go to the database: at once while it is free, in batches while it is busy.

There is no timer.  A lone word is sent as soon as it is said; what is said while a batch is under way
is the next batch.  A batch without an answer is said again, in the same words, until it has one.
Words that may have to wait for somebody have a lane of their own (`Apart`): nobody waits for them here.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from windlass.db.link import AsyncLink
from windlass.errors import InvalidInput, WindlassError
from windlass.worker.answers import AGAIN, Answer, Answered, answers_to, call_for
from windlass.worker.apart import Apart
from windlass.worker.hand_over import take_all
from windlass.worker.outage import Outage, lock_not_free
from windlass.worker.signals import Signals
from windlass.worker.words import Verb, Word

__all__ = ["Answer", "Reporter", "next_batch"]

MAX_WORDS = 500
MAX_BYTES = 8 * 1024 * 1024
_ORDER: tuple[Verb, ...] = ("complete", "fail", "snooze", "release")


class Reporter:
    """Sends words; `answered` is called once for each that was said, with those that got the same answer."""

    def __init__(
        self,
        link: AsyncLink,
        apart_link: AsyncLink,
        answered: Callable[[Sequence[Word], Answer], None],
        signals: Signals,
    ) -> None:
        self._link = link
        self._answered = answered
        self._outage = Outage("reporting", signals)
        self._said: deque[Word] = deque()
        self._batch: dict[Verb, list[Word]] = {}
        """What is still to be sent of the batch that is under way."""
        self.under_way: list[Word] = []
        """Sent, or about to be, and without an answer."""
        self._spoken = asyncio.Event()
        self._silent = asyncio.Event()
        self._silent.set()
        self.apart = Apart(apart_link, self.tell, Outage("reporting apart", signals))
        self.backlog = 0
        """Words without an answer."""

    @property
    def mismatch(self) -> bool:
        """Whether the database does not know the words of this release."""
        return self._outage.mismatch or self.apart.mismatch

    def say(self, word: Word) -> None:
        if not self.backlog:
            self._silent.clear()
        self.backlog += 1
        if word.finished:
            self.apart.say([word])
        else:
            self._say_soon(word)

    def take_unsent(self) -> list[Word]:
        """From any thread: what nobody has begun to send; they are answered by `tell`, or said again."""
        unsent = [self._batch.pop(verb, []) for verb in _ORDER]
        return [*chain.from_iterable(unsent), *take_all(self._said), *self.apart.take_unsent()]

    def expect(self, count: int) -> None:
        """Somebody else says so many words; they are answered by `tell`, or said again."""
        if count and not self.backlog:
            self._silent.clear()
        self.backlog += count

    def say_again(self, words: Iterable[Word]) -> None:
        """Words that are counted already."""
        for word in words:
            if word.finished:
                self.apart.say([word])
            else:
                self._say_soon(word)

    async def silent(self) -> None:
        """A probe: wait until every word has its answer."""
        await self._silent.wait()

    async def run(self) -> None:
        """Send until canceled."""
        while True:
            await self._spoken.wait()
            await self._send_batch()  # apart from the loop, which would hold on to the batch while it waits

    async def _send_batch(self) -> None:
        self._batch = batch = next_batch(self._said)
        if not self._said:
            self._spoken.clear()
        try:
            for verb in _ORDER:
                if words := batch.pop(verb, None):
                    await self._send(words)
        finally:  # empty by now, unless an error came between that nobody foresaw
            for verb in _ORDER:
                for word in batch.pop(verb, ()):
                    self._say_soon(word)

    async def _send(self, words: list[Word]) -> None:
        """Say these, which have one verb, until answered."""
        if words[0].verb != "complete" and self.apart.contended:  # a success locks no job
            self.apart.say(words)
            return
        self.under_way = words
        try:
            rows = await self._ask(words)
        except WindlassError:
            self.apart.say(words)
        except Exception:  # their leases are renewed until they have an answer: none may be lost here
            self.apart.doubt(words)
            raise
        else:
            self.tell(answers_to(words, rows))
            self._outage.over()
        finally:
            self.under_way = []

    async def _ask(self, words: list[Word]) -> list[Any]:
        """The answer, once there is one; an error if one of these is malformed, or its job held."""
        while True:
            try:
                rows: list[Any] = await self._link.run(call_for(words))
            except WindlassError as error:
                if isinstance(error, InvalidInput) or lock_not_free(error):
                    self._outage.over()  # it is there, and knows what was said
                    raise
                for word in words:
                    word.repeated = True
                await asyncio.sleep(self._outage.failed(error))
            else:
                return rows

    def _say_soon(self, word: Word) -> None:
        if not self._said:
            self._spoken.set()
        self._said.append(word)

    def tell(self, answers: Iterable[Answered]) -> None:
        """These were answered, whoever has sent them."""
        fault: Exception | None = None
        for words, answer in answers:
            if answer is AGAIN:
                for word in words:
                    self._say_soon(word)
            elif words:
                try:
                    self._answer(words, answer)
                except Exception as error:  # the others have their answers too, and will not get them twice
                    fault = error
        if fault is not None:
            raise fault

    def _answer(self, words: list[Word], answer: Answer) -> None:
        self.backlog -= len(words)
        if not self.backlog:
            self._silent.set()
        self._answered(words, answer)


def next_batch(said: deque[Word], most: int = MAX_WORDS) -> dict[Verb, list[Word]]:
    """What is said next, by verbs; others may take from there too."""
    batch: dict[Verb, list[Word]] = {}
    count = size = 0
    while count < most and size < MAX_BYTES:
        try:
            word = said.popleft()
        except IndexError:
            break
        count += 1
        if word.result is not None or word.error is not None:
            size += len(word.result or "") + len(word.error or "")
        if word.verb in batch:
            batch[word.verb].append(word)
        else:
            batch[word.verb] = [word]
    return batch
