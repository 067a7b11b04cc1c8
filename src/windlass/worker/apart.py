"""The lane of words that may have to wait: for somebody's open transaction, or for their own handler's.

Each vain try takes half a second, so it has a connection of its own, opened when there is such a word
and closed when there was none for a while.  A batch of which one word is held or malformed comes here
as a whole, and is taken to pieces until that word is alone.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from windlass.db.link import AsyncLink
from windlass.db.rpc import complete_jobs
from windlass.errors import InvalidInput, WindlassError
from windlass.worker.answers import LOST, SUCCEEDED, Answer, Answered, answers_to, call_for
from windlass.worker.hand_over import take_all
from windlass.worker.leases import elapsed_clock
from windlass.worker.outage import Outage, lock_not_free
from windlass.worker.patience import Bell
from windlass.worker.words import Limits, Word, word_for_error

__all__ = ["Apart"]

_SETTLE_AGAIN_SECONDS = 1.0
_HELD_AGAIN_SECONDS = 2.0
_CONTENDED_SECONDS = 5.0
_IDLE_SECONDS = 60.0
_FRESH_IN_A_ROW = 20
_MAX_REDUCED = 2


class _Group(NamedTuple):
    """Words of one verb that are said together."""

    words: list[Word]
    reduced: int = 0
    """How often the word, which is then alone, was refused as malformed."""


class Apart:
    """`tell` is called with each answer.

    Those that were held before wait behind all others: nobody waits for more than the one under way.
    """

    def __init__(self, link: AsyncLink, tell: Callable[[Iterable[Answered]], None], outage: Outage) -> None:
        self._link = link
        self._tell = tell
        self._outage = outage
        self._fresh: deque[_Group] = deque()
        self._held: deque[_Group] = deque()
        self._later: dict[object, _Group] = {}
        """What was held by somebody a moment ago."""
        self.under_way: list[Word] = []
        """Sent, or about to be, and without an answer."""
        self._row = 0
        self._held_at = -_CONTENDED_SECONDS
        self._woken = Bell()

    @property
    def contended(self) -> bool:
        """Whether somebody held jobs lately: words that lock jobs had better come here at once."""
        return elapsed_clock() - self._held_at < _CONTENDED_SECONDS

    @property
    def mismatch(self) -> bool:
        return self._outage.mismatch

    def say(self, words: list[Word]) -> None:
        """Words of one verb; one that its handler finished comes alone."""
        self._add(self._fresh, _Group(words))

    def doubt(self, words: list[Word]) -> None:
        """Nobody knows whether these were heard, or why not: say them again, and less of them at a time.

        So the one that it is about, if there is one, holds up no other for long.
        """
        for word in words:
            word.repeated = True
        if len(words) > 1:
            self._held.extend(_halves(words))
            self._woken.ring()
        else:
            self._add_later(_Group(words))

    def take_unsent(self) -> list[Word]:
        """From any thread: what is not under way (see hand_over.py)."""
        later = [self._later.pop(name, None) for name in list(self._later)]
        groups = [*take_all(self._fresh), *take_all(self._held), *filter(None, later)]
        return [word for group in groups for word in group.words]

    async def run(self) -> None:
        """Send until canceled."""
        while True:
            self._woken.clear()
            if self._fresh or self._held:
                await self._send_next()
            else:
                await self._rest()

    async def _rest(self) -> None:
        await self._woken.wait(_IDLE_SECONDS)
        if not (self._fresh or self._held):
            await self._link.close()

    async def _send_next(self) -> None:
        group = self._next()
        if group is None:
            return
        self.under_way = group.words
        try:
            answers = await self._ask(group.words)
        except InvalidInput as error:
            self._outage.over()
            self._take_refusal(group, error)
        except WindlassError as error:
            if lock_not_free(error):
                self._outage.over()
                self._put_off(group)
            else:
                for word in group.words:
                    word.repeated = True
                self._fresh.appendleft(group)
                await asyncio.sleep(self._outage.failed(error))
        except Exception:
            self.doubt(group.words)
            raise
        else:
            self._tell(answers)
            self._outage.over()
        finally:
            self.under_way = []

    def _next(self) -> _Group | None:
        """None if somebody has taken it since it was seen."""
        with suppress(IndexError):
            if self._held and (not self._fresh or self._row >= _FRESH_IN_A_ROW):
                self._row = 0
                return self._held.popleft()
            self._row += 1
            return self._fresh.popleft()
        return None

    async def _ask(self, words: list[Word]) -> Iterable[Answered]:
        if words[0].finished:
            return [(words, await self._settle(words[0]))]
        return answers_to(words, await self._link.run(call_for(words)))

    async def _settle(self, word: Word) -> Answer:
        """The handler's own transaction has the first word, and this one counts only if it was rolled back.

        Said with success already, the job refuses it as any late word; whether it was this very token that
        said so is then asked.  While that transaction is open there is no answer: the function waits half a
        second for one, and it is tried again.
        """
        ((_, answer),) = answers_to([word], await self._link.run(call_for([word])))
        if answer.code == "ok":
            return answer
        job = word.job
        refused = await self._link.run(
            complete_jobs([job.token_bytes], [job.id_bytes], tenants=[job.tenant_bytes])
        )
        return LOST if refused else SUCCEEDED

    def _take_refusal(self, group: _Group, error: InvalidInput) -> None:
        """One of these is malformed.  The database cannot keep it: that attempt fails, for this reason."""
        words = group.words
        if len(words) > 1:
            self._fresh.extend(_halves(words))
        elif group.reduced < _MAX_REDUCED:
            self._fresh.append(_Group([_reduced(words[0], error)], group.reduced + 1))
        else:
            self._tell([(words, Answer(error.code))])

    def _put_off(self, group: _Group) -> None:
        """Somebody's open transaction holds one of these jobs, or one of their leases.

        Half of them, and half of these, would meet with it each time, for half a second; one after the
        other meets with it once.  But first by leases: most of them are free as a whole.
        """
        if not group.words[0].finished:  # which only its own handler holds up
            self._held_at = elapsed_clock()
        leases: dict[bytes, list[Word]] = {}
        for word in group.words:
            leases.setdefault(word.job.token_bytes, []).append(word)
        if len(leases) > 1:
            self._fresh.extend(map(_Group, leases.values()))
        elif len(group.words) > 1:
            self._held.extend(_Group([word]) for word in group.words)
        else:
            self._add_later(group)

    def _add_later(self, group: _Group) -> None:
        wait = _SETTLE_AGAIN_SECONDS if group.words[0].finished else _HELD_AGAIN_SECONDS
        name = object()
        self._later[name] = group
        asyncio.get_running_loop().call_later(wait, self._wait_over, name)

    def _wait_over(self, name: object) -> None:
        if (group := self._later.pop(name, None)) is not None:
            self._add(self._held, group)

    def _add(self, groups: deque[_Group], group: _Group) -> None:
        groups.append(group)
        self._woken.ring()


def _halves(words: list[Word]) -> tuple[_Group, _Group]:
    half = len(words) // 2
    return _Group(words[:half]), _Group(words[half:])


def _reduced(word: Word, error: InvalidInput) -> Word:
    less = word_for_error(word.job, error, Limits(error_bytes=1024))
    less.outcome, less.seconds = word.outcome, word.seconds
    less.repeated, less.finished = word.repeated, word.finished
    return less
