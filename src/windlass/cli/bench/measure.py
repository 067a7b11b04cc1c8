"""The four measurements, and the account that must balance after them."""

import time
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from windlass.cli.bench.crew import BenchWorker
from windlass.cli.bench.jobs import QUEUE, TENANT, new_job
from windlass.client import SyncClient
from windlass.errors import InvalidTransition, WindlassError

__all__ = ["Bench"]

BATCH = 5_000
WARM_UP = 5
EVERY_SECONDS = 0.05


class Bench:
    """One run.  Its jobs are numbered; the correlation id `run` is theirs alone."""

    def __init__(self, client: SyncClient, jobs: int) -> None:
        self._client = client
        self._jobs = jobs
        self._say: Callable[[str], None] = lambda text: None
        self._next = 0
        self.run = f"windlass-bench-{uuid4().hex[:12]}"

    def prepare(self) -> None:
        """Make the tenant, and cancel what an interrupted run left in line; a run under way is left alone."""
        self._client.create_tenant(TENANT, "windlass bench", reason="windlass bench")
        if any(QUEUE in node.queues for node in self._client.list_nodes() if node.active):
            raise InvalidTransition("another windlass bench is at work on this database: wait for its end")
        self.cancel_waiting(None)

    def measure(
        self, database_url: str, concurrency: int, paced: int, say: Callable[[str], None]
    ) -> dict[str, Any]:
        """The figures; `say` is told what goes on."""
        self._say = say
        single, bulk = self._one_by_one(max(WARM_UP, self._jobs // 20)), self._in_bulk(self._jobs)
        with BenchWorker(database_url, concurrency) as worker:
            worker.await_ready()
            drained = self._drain(worker)
            waits = self._pick_up(worker, paced)
            self._await_empty()
            repeats = worker.repeats
        return {
            "W1": {"unit": "jobs/s", "value": single},
            "W2": {"unit": "jobs/s", "value": bulk},
            "W3": {"unit": "jobs/s", "value": drained},
            "W4": {"unit": "ms", "p50": quantile(waits, 0.5), "p99": quantile(waits, 0.99)},
            "enqueued": self._next,
            "succeeded": self._succeeded(),
            "ran_again": repeats,
        }

    def cancel_waiting(self, run: str | None) -> int:
        """Cancel what waits in the scratch queue; how many it was."""
        waiting = [
            job.id
            for job in self._client.iterate_jobs(
                states=["queued"], queues=[QUEUE], correlation_id=run, tenant=TENANT
            )
        ]
        for job_id in waiting:
            try:
                self._client.cancel_job(job_id, tenant=TENANT, reason="left by windlass bench")
            except InvalidTransition:  # it has ended by itself
                continue
        return len(waiting)

    def _take(self, count: int) -> range:
        first, self._next = self._next, self._next + count
        return range(first, self._next)

    def _one_by_one(self, count: int) -> float:
        self._say(f"W1: {count:,} single enqueues")
        for number in self._take(WARM_UP):
            self._client.enqueue(new_job(number, self.run), tenant=TENANT)
        began = time.monotonic()
        for number in self._take(count):
            self._client.enqueue(new_job(number, self.run), tenant=TENANT)
        return count / (time.monotonic() - began)

    def _in_bulk(self, count: int) -> float:
        self._say(f"W2: {count:,} jobs in bulk")
        numbers = self._take(count)
        began = time.monotonic()
        for start in range(0, count, BATCH):
            jobs = [new_job(number, self.run) for number in numbers[start : start + BATCH]]
            self._client.enqueue_jobs(jobs, tenant=TENANT)
        return count / (time.monotonic() - began)

    def _drain(self, worker: BenchWorker) -> float:
        worker.await_handled(self._next, lambda done: self._say(f"W3: {done:,} of {self._next:,} jobs done"))
        self._await_empty()
        end = time.monotonic_ns()
        return self._next * 1e9 / (end - min(worker.starts.values()))

    def _pick_up(self, worker: BenchWorker, count: int) -> list[float]:
        self._say(f"W4: {count} jobs for an idle worker")
        returned = {}
        due = time.monotonic()
        for number in self._take(WARM_UP + count):
            due += EVERY_SECONDS
            time.sleep(max(0.0, due - time.monotonic()))
            self._client.enqueue(new_job(number, self.run), tenant=TENANT)
            returned[number] = time.monotonic_ns()
        worker.await_handled(self._next, lambda done: None)
        return [(worker.starts[number] - at) / 1e6 for number, at in list(returned.items())[WARM_UP:]]

    def _await_empty(self) -> None:
        """Until the database says that nothing of the scratch queue waits or runs."""
        while True:
            load = [queue for queue in self._client.list_queues(tenant=TENANT) if queue.name == QUEUE]
            if not any(queue.ready + queue.scheduled + queue.running for queue in load):
                return
            time.sleep(0.005)

    def _succeeded(self) -> int:
        """Every job of the run must be recorded as succeeded; WindlassError if one is not."""
        self._say("counting the records")
        found = sum(
            1
            for _ in self._client.iterate_jobs(
                states=["succeeded"], queues=[QUEUE], correlation_id=self.run, tenant=TENANT
            )
        )
        if found != self._next:
            raise WindlassError(f"{self._next:,} jobs were enqueued and {found:,} are recorded as succeeded")
        return found


def quantile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(part * (len(ordered) - 1)))]
