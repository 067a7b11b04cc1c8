"""What is said of last attempts before and after their handlers are called.

A worker holds jobs that it has not begun.  Should it die, each of them has lost an attempt, and one that had
no other would be dead without ever having run.  So the database is told of last attempts, and only of these:
before the call that it is about to come, for otherwise a job that kills its worker would not be found out;
and afterwards that it came, unless the attempt ended meanwhile.
"""

import asyncio
from collections.abc import Callable, Iterable

from windlass.db.link import AsyncLink
from windlass.db.rpc_node import begin_jobs
from windlass.errors import WindlassError
from windlass.model import ClaimedJob
from windlass.worker.attempt import Attempt
from windlass.worker.leases import elapsed_clock
from windlass.worker.outage import Outage, lock_not_free
from windlass.worker.patience import Bell

__all__ = ["Begins"]

MAX_BATCH = 500
_SURE_SECONDS = 0.005
"""An attempt that has ended by then is not worth another word."""
_HELD_AGAIN_SECONDS = 1.0
"""A vain try takes half a second, on the connection that claims need too."""
_IDLE_SECONDS = 60.0


class Begins:
    """`start` is called with each job once the database knows of it, `lose` with those that it refused.

    What waits while a call is under way goes with the next one.  Without an answer it is said again.  Where
    somebody holds one of the leases, each of them is then said by itself.
    """

    def __init__(
        self,
        link: AsyncLink,
        start: Callable[[ClaimedJob], Attempt | None],
        lose: Callable[[ClaimedJob], None],
        outage: Outage,
    ) -> None:
        self._link = link
        self._start = start
        self._lose = lose
        self._outage = outage
        self._waiting: dict[tuple[bytes, bytes], ClaimedJob] = {}
        self._started: list[Attempt] = []
        self._held: dict[bytes, float] = {}
        """Leases that somebody may hold, and when each is tried by itself."""
        self._woken = Bell()

    @property
    def mismatch(self) -> bool:
        """Whether the database does not know what is said of last attempts."""
        return self._outage.mismatch

    @property
    def waiting(self) -> int:
        """Jobs that will start when the database has answered: each has its slot."""
        return len(self._waiting)

    def add(self, job: ClaimedJob) -> None:
        """Start this one as soon as the database knows of it."""
        self._waiting[job.token_bytes, job.id_bytes] = job
        self._woken.ring()

    def take_back(self, jobs: Iterable[bytes] | None = None) -> list[ClaimedJob]:
        """From any thread: do not start these, or any.  Whoever has said so must see to them."""
        wanted = [job for job in list(self._waiting.values()) if jobs is None or job.id_bytes in jobs]
        taken = [self._waiting.pop((job.token_bytes, job.id_bytes), None) for job in wanted]
        return [job for job in taken if job is not None]  # others may have been taken, or started, meanwhile

    async def run(self) -> None:
        """Speak until canceled."""
        while True:
            self._woken.clear()
            waiting, called = self._next()
            if waiting or called:
                await self._tell(waiting, called)
            else:
                await self._woken.wait(self._pause())

    def _next(self) -> tuple[list[ClaimedJob], list[Attempt]]:
        """What is said next: of a lease that somebody may hold, if it is due, or what nobody holds."""
        waiting, called = list(self._waiting.values()), self._called()
        if self._held:
            now = elapsed_clock()
            for token in [token for token, due in self._held.items() if due <= now]:
                of_it = [job for job in waiting if job.token_bytes == token]
                called_of_it = [attempt for attempt in called if attempt.job.token_bytes == token]
                if of_it or called_of_it:
                    return of_it[:MAX_BATCH], called_of_it
                del self._held[token]  # taken back, or ended, meanwhile
            waiting = [job for job in waiting if job.token_bytes not in self._held]
            called = [attempt for attempt in called if attempt.job.token_bytes not in self._held]
        return waiting[:MAX_BATCH], called

    def _pause(self) -> float:
        pause = _IDLE_SECONDS
        if self._held:
            pause = max(0.0, min(self._held.values()) - elapsed_clock())
        if any(attempt.job.token_bytes not in self._held for attempt in self._started):
            pause = min(pause, _SURE_SECONDS)
        return pause

    def _called(self) -> list[Attempt]:
        self._started = [attempt for attempt in self._started if not attempt.said]
        before = elapsed_clock() - _SURE_SECONDS
        return [attempt for attempt in self._started if attempt.begun and attempt.started < before]

    async def _tell(self, waiting: list[ClaimedJob], called: list[Attempt]) -> None:
        jobs = [*waiting, *(attempt.job for attempt in called)]
        call = begin_jobs(
            [job.token_bytes for job in jobs],
            [job.id_bytes for job in jobs],
            [False] * len(waiting) + [True] * len(called),
        )
        try:
            refused = await self._link.run(call)
        except WindlassError as error:
            if lock_not_free(error):
                self._put_off({job.token_bytes for job in jobs})
            else:
                await asyncio.sleep(self._outage.failed(error))
            return
        self._held.pop(jobs[0].token_bytes, None)
        self._outage.over()
        self._started = [attempt for attempt in self._started if attempt not in called]
        for job in waiting:
            name = (job.token_bytes, job.id_bytes)
            if self._waiting.pop(name, None) is None:  # taken back meanwhile
                continue
            if name in refused:
                self._lose(job)
            elif (attempt := self._start(job)) is not None:
                self._started.append(attempt)
        await asyncio.sleep(0)  # first the handlers

    def _put_off(self, tokens: set[bytes]) -> None:
        """Somebody holds one of these leases.  Which one, they are asked one by one.

        The one that is held is not tried again at once, nor soon after another: claims wait meanwhile.
        """
        if len(tokens) > 1:
            self._held.update(dict.fromkeys(tokens, 0.0))
        else:
            latest = max(elapsed_clock(), *self._held.values(), 0.0)
            self._held.update(dict.fromkeys(tokens, latest + _HELD_AGAIN_SECONDS))
