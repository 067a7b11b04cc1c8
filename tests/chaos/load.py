"""The jobs of a run: who asks for them, of which sorts, how fast."""

import contextlib
import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from tests.chaos.limits import impose
from tests.chaos.site import Site
from windlass import NewJob, RetryPolicy, Unavailable, WindlassError
from windlass.model import uuid7

__all__ = ["Load"]

ATTEMPTS = 25
"""So many that hardly a job dies of the faults of a run."""
RETRY_WAIT = 0.3
SNOOZE_WAIT = 0.2
_RETRY = RetryPolicy(base_seconds=RETRY_WAIT, factor=1.0, jitter="none", max_attempts=ATTEMPTS)
_BATCH = 40
_SHARES = (10, 10, 10, 2, 1)
"""How much each tenant asks for; the last two stand under limits."""
_KEYS = 30
"""So many lines of jobs that take turns has each tenant."""

Facts = dict[str, Any]


def _plain(source: random.Random) -> tuple[Facts, Facts]:
    return {"kind": "chore", "payload": {}}, {}


def _slow(source: random.Random) -> tuple[Facts, Facts]:
    return {"kind": "chore", "payload": {"seconds": round(source.uniform(0.01, 0.1), 3)}}, {}


def _threaded(source: random.Random) -> tuple[Facts, Facts]:
    return {"kind": "errand", "payload": {"seconds": round(source.uniform(0.0, 0.02), 3)}}, {}


def _failing(source: random.Random) -> tuple[Facts, Facts]:
    return {"kind": "chore", "payload": {"fails": source.choice((1, 2))}}, {}


def _hopeless(source: random.Random) -> tuple[Facts, Facts]:
    return {"kind": "chore", "payload": {"fails": 99}, "max_attempts": 2}, {"max_attempts": 2}


def _only_once(source: random.Random) -> tuple[Facts, Facts]:
    """Its only attempt: it may die with a worker, but not without having begun."""
    return {"kind": "chore", "payload": {}, "max_attempts": 1}, {"max_attempts": 1}


def _snoozing(source: random.Random) -> tuple[Facts, Facts]:
    return {"kind": "chore", "payload": {"snoozes": 1}}, {"snooze_wait": SNOOZE_WAIT}


def _later(source: random.Random) -> tuple[Facts, Facts]:
    due = datetime.now(UTC) + timedelta(seconds=source.uniform(0.5, 5.0))
    return {"kind": "chore", "payload": {}, "run_at": due}, {"run_at": due.timestamp()}


def _parent(source: random.Random) -> tuple[Facts, Facts]:
    return {"kind": "parent", "payload": {}}, {}


def _costly(source: random.Random) -> tuple[Facts, Facts]:
    entries = source.choice((1, 1, 2))
    return {"kind": source.choice(("purchase", "purchase_in_thread")), "payload": {"entries": entries}}, {}


def _keyed(source: random.Random) -> tuple[Facts, Facts]:
    """One at a time, in order, whatever becomes of them; some fail first, some snooze, few die."""
    asked, facts = source.choices((_plain, _slow, _failing, _snoozing, _hopeless), (60, 20, 10, 8, 2))[0](
        source
    )
    key = f"line {source.randrange(_KEYS)}"
    return {**asked, "kind": "turn", "concurrency_key": key}, {**facts, "key": key}


_SORTS: dict[Callable[[random.Random], tuple[Facts, Facts]], int] = {
    _plain: 65,
    _slow: 6,
    _threaded: 5,
    _failing: 3,
    _hopeless: 1,
    _only_once: 3,
    _snoozing: 2,
    _later: 3,
    _parent: 2,
    _costly: 5,
    _keyed: 5,
}


class Load:
    """Producers in threads, which ask for `jobs` jobs within about `seconds`; 0 is as fast as they can."""

    def __init__(self, site: Site, jobs: int, seconds: float, producers: int = 2) -> None:
        self._site = site
        self._jobs = jobs
        self._seconds = seconds
        self._lock = threading.Lock()
        self._since = time.monotonic()
        self.asked = 0
        self.unknown = 0
        """Jobs of which nobody can say whether they were accepted."""
        self._stopping = threading.Event()
        self.trouble: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._work, args=[random.Random(f"{site.seed} {n}")], daemon=True)
            for n in range(producers)
        ]

    def start(self) -> None:
        impose(self._site)
        self._since = time.monotonic()
        for thread in self._threads:
            thread.start()

    @property
    def done(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _work(self, source: random.Random) -> None:
        try:
            while not self._stopping.is_set() and (count := self._take(source)):
                self._enqueue(source, count)
        except BaseException as error:
            self.trouble.append(error)

    def _take(self, source: random.Random) -> int:
        """How many jobs to ask for next, when it is their time."""
        with self._lock:
            count = min(self._jobs - self.asked, source.randint(1, 2 * _BATCH))
            due = self._since + self._seconds * self.asked / max(self._jobs, 1)
            self.asked += count
        self._stopping.wait(max(0.0, due - time.monotonic()))
        return count

    def _enqueue(self, source: random.Random, count: int) -> None:
        (tenant,) = source.choices(self._site.tenants, _SHARES)
        made = [self._make(source, tenant) for _ in range(count)]
        jobs, told = [job for job, _ in made], [facts for _, facts in made]
        for _ in range(2 if source.random() < 0.05 else 1):  # said twice, the second time adds nothing
            try:
                with self._site.recorder.call("enqueue", told):
                    self._site.client.enqueue_jobs(jobs, tenant=tenant)
            except Unavailable:
                self.unknown += count
        if source.random() < 0.1:
            self._cancel(source.choice(told)["job"], tenant)

    def _make(self, source: random.Random, tenant: UUID) -> tuple[NewJob, Facts]:
        (sort,) = source.choices(list(_SORTS), list(_SORTS.values()))
        asked, facts = sort(source)
        job = NewJob(**{"id": uuid7(), "max_attempts": ATTEMPTS, "retry": _RETRY, **asked})
        told = {"job": job.id, "tenant": tenant, "kind": job.kind, "max_attempts": ATTEMPTS}
        return job, {**told, "retry_wait": RETRY_WAIT, **facts}

    def _cancel(self, job: UUID, tenant: UUID) -> None:
        with contextlib.suppress(WindlassError), self._site.recorder.call("cancel", [{"job": job}]):
            self._site.client.cancel_job(job, tenant=tenant)
