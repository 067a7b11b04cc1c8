"""How jobs get in: one or many, on our own connections or inside a caller's transaction."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice
from typing import Any, Generic, TypeVar
from uuid import UUID

from windlass.client.batch import Parts, Split, alike_calls, mixed_calls
from windlass.client.core import Core, Settled, TenantName, as_id
from windlass.client.effects import Operation, Together
from windlass.db import rpc_client, rpc_enqueue, rpc_limits
from windlass.db.call import Call
from windlass.db.rpc_enqueue import Enqueued
from windlass.errors import InvalidInput, NotFound
from windlass.model import NewJob, RetryPolicy, Scope, uuid7
from windlass.model.names import as_list, shown
from windlass.model.retry import as_policy
from windlass.telemetry import current_job

__all__ = ["EnqueueOperations"]

H = TypeVar("H")
T = TypeVar("T")


class EnqueueOperations(Core, Generic[H]):
    """H is what an enqueue gives its caller to hold."""

    def __init__(self, settled: Settled, make_handle: Callable[[UUID, UUID, bool], H]) -> None:
        super().__init__(settled)
        self._make_handle = make_handle

    def enqueue_job(
        self,
        kind: str,
        payload: Any = None,
        *,
        tenant: TenantName | None = None,
        queue: str = "default",
        priority: int = 0,
        run_at: datetime | None = None,
        delay: float | timedelta | None = None,
        key: str | None = None,
        scope: Scope = "forever",
        max_attempts: int | None = None,
        retry: RetryPolicy | str | None = None,
        timeout: float | timedelta | None = None,
        trace_id: str | None = None,
        correlation_id: str | None = None,
        concurrency_key: str | None = None,
        concurrency_limit: int | None = None,
        id: UUID | None = None,
    ) -> Operation[H]:
        """Enqueue a job by the name of its kind: for producers that do not have the handler's code."""
        job = NewJob(
            kind=kind,
            payload={} if payload is None else payload,
            id=id,
            queue=queue,
            priority=priority,
            run_at=run_at,
            delay=delay,
            key=key,
            scope=scope,
            max_attempts=max_attempts,
            retry=as_policy(retry),
            timeout=timeout,
            trace_id=trace_id,
            correlation_id=correlation_id,
            concurrency_key=concurrency_key,
            concurrency_limit=concurrency_limit,
        )
        return self.enqueue(job, tenant=tenant)

    def enqueue(self, job: NewJob, *, tenant: TenantName | None = None) -> Operation[H]:
        """Enqueue one job.

        A duplicate (same idempotency key, same payload) gives the job that is there, not `created`;
        the same key with another payload is an IdempotencyConflict.
        """
        _check_described(job)
        tenant_id = yield from self._tenant(tenant)
        (ready,) = yield from self._completed([job])
        payload = ready.encode_payload(self.settled.max_payload_bytes)
        try:
            known = job.key is not None or job.id is not None  # and so perhaps just being written by somebody
            call = rpc_enqueue.enqueue_job(tenant_id, ready, payload, actor=self.settled.actor, alone=known)
            answer = yield from self._safely(call)
        except NotFound:
            self._forget_tenant(tenant)
            raise
        return self._handle(tenant_id, job, ready, answer)

    def enqueue_many(
        self,
        kind: str,
        payloads: Iterable[Any],
        *,
        tenant: TenantName | None = None,
        queue: str = "default",
        priority: int = 0,
        run_at: datetime | None = None,
        delay: float | timedelta | None = None,
        max_attempts: int | None = None,
        retry: RetryPolicy | str | None = None,
        timeout: float | timedelta | None = None,
        trace_id: str | None = None,
        correlation_id: str | None = None,
        concurrency_key: str | None = None,
        concurrency_limit: int | None = None,
        encode: Callable[[Any], Any] | None = None,
    ) -> Operation[list[H]]:
        """Enqueue a job of one kind for each payload: all of them or none, one handle each in their order.

        The fastest way in.  `encode` makes the JSON value of a payload, where it is not one already.
        """
        pattern = NewJob(
            kind=kind,
            payload=None,
            queue=queue,
            priority=priority,
            run_at=run_at,
            delay=delay,
            max_attempts=max_attempts,
            retry=as_policy(retry),
            timeout=timeout,
            trace_id=trace_id,
            correlation_id=correlation_id,
            concurrency_key=concurrency_key,
            concurrency_limit=concurrency_limit,
        )
        return self._enqueue_alike(tenant, pattern, as_list(payloads, "payloads"), encode)

    def enqueue_jobs(self, jobs: Iterable[NewJob], *, tenant: TenantName | None = None) -> Operation[list[H]]:
        """Enqueue many jobs, of one kind or several: all of them or none, one handle each in their order."""
        given = _described(jobs)
        if not given:
            return []
        shared = given[0].shared
        if all(job.key is None and job.id is None and job.shared == shared for job in given):
            return (yield from self._enqueue_alike(tenant, given[0], [job.payload for job in given]))
        tenant_id = yield from self._tenant(tenant)
        ready = yield from self._completed(given)
        calls = mixed_calls(
            tenant_id, ready, self._split(len(ready)), self._in_our_name(rpc_enqueue.enqueue_jobs)
        )
        answers = yield from self._in_parts(tenant, calls)
        flat = (one for part in answers for one in part)
        return [self._handle(tenant_id, *one) for one in zip(given, ready, flat, strict=True)]

    def enqueue_fitting(
        self, jobs: Iterable[NewJob], *, tenant: TenantName | None = None
    ) -> Operation[list[H | None]]:
        """Enqueue those jobs that the limits on depth leave room for, the first ones first.

        One handle each in their order, None in place of a job for which there was no room.  It is asked
        once: where the answer gets lost (Unavailable), it is open which jobs are in line.
        """
        given = _described(jobs)
        if not given:
            return []
        tenant_id = yield from self._tenant(tenant)
        ready = yield from self._completed(given)
        calls = mixed_calls(
            tenant_id, ready, self._split(len(ready)), self._in_our_name(rpc_limits.enqueue_fitting)
        )
        answers: list[list[Enqueued | None]] = yield Together(Parts(calls))
        flat = (one for part in answers for one in part)
        return [
            None if answer is None else self._handle(tenant_id, job, sent, answer)
            for job, sent, answer in zip(given, ready, flat, strict=True)
        ]

    def _enqueue_alike(
        self,
        tenant: TenantName | None,
        pattern: NewJob,
        payloads: Sequence[Any],
        encode: Callable[[Any], Any] | None = None,
    ) -> Operation[list[H]]:
        """Jobs whose ids were made here: whatever is found under one of them is from our own first try."""
        if not payloads:
            return []
        tenant_id = yield from self._tenant(tenant)
        (ready,) = yield from self._completed([pattern])
        handles: list[H] = []

        def note(ids: list[UUID]) -> None:
            handles.extend([self._make_handle(job_id, tenant_id, True) for job_id in ids])

        split = self._split(len(payloads))
        yield from self._in_parts(
            tenant, alike_calls(tenant_id, ready, payloads, note, split, encode, self.settled.actor)
        )
        return handles

    def _in_our_name(self, call: Callable[..., Call[T]]) -> Callable[[UUID, Sequence[str]], Call[T]]:
        return partial(call, actor=self.settled.actor)

    def _split(self, count: int) -> Split:
        return Split.of(count, self.settled.max_payload_bytes, whole=not self.settled.own_connection)

    def _in_parts(self, tenant: TenantName | None, calls: Iterator[Call[T]]) -> Operation[list[T]]:
        """Carry out calls that commit together; the answers to all, in order."""
        first = list(islice(calls, 2))
        try:
            if len(first) == 1:
                return [(yield from self._safely(first[0]))]
            answers: list[T] = yield from self._safely_any(Together(Parts(chain(first, calls))))
            return answers
        except NotFound:
            self._forget_tenant(tenant)
            raise

    def _completed(self, jobs: Sequence[NewJob]) -> Operation[list[NewJob]]:
        """The jobs as they are sent: with an id of their own, so that an enqueue can be said twice.

        A job enqueued by a handler carries on the trace and the correlation of the handler's job.
        """
        now: datetime | None = None
        if any(job.delay is not None for job in jobs):
            now = yield from self._safely(rpc_client.clock())
        running = current_job()
        return [
            job.with_fields(
                id=uuid7() if job.id is None else job.id,
                run_at=job.run_at if now is None else _due(job, now),
                delay=None,
                trace_id=running.trace_id if running and job.trace_id is None else job.trace_id,
                correlation_id=(
                    running.correlation_id if running and job.correlation_id is None else job.correlation_id
                ),
            )
            for job in jobs
        ]

    def _handle(self, tenant_id: UUID, given: NewJob, sent: NewJob, answer: Enqueued) -> H:
        # An id made here is nobody else's: if the job was there already, it is from our own first try.
        created = answer.created or (given.id is None and answer.job_id == sent.id)
        return self._make_handle(answer.job_id, tenant_id, created)

    def handle(self, job_id: UUID | str, *, tenant: TenantName | None = None) -> Operation[H]:
        """A handle on a job enqueued earlier or elsewhere; nobody looks whether it exists."""
        tenant_id = yield from self._tenant(tenant)
        return self._make_handle(as_id(job_id), tenant_id, False)


def _described(jobs: Iterable[NewJob]) -> list[NewJob]:
    given = as_list(jobs, "jobs")
    for job in given:
        _check_described(job)
    return given


def _check_described(job: object) -> None:
    if not isinstance(job, NewJob):
        raise InvalidInput(
            f"{shown(job)} is no job: describe it with NewJob(kind=…, payload=…), or with .new(…) of its kind"
        )


def _due(job: NewJob, now: datetime) -> datetime | None:
    return job.run_at if job.delay_seconds is None else now + timedelta(seconds=job.delay_seconds)
