"""What a client does with jobs that are there: look, wait, cancel, reschedule, redrive."""

import math
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from windlass.client.core import Core, TenantName, as_count, as_id, as_names, optional_moment
from windlass.client.effects import Item, Operation, Pause, asking
from windlass.db import rpc_client, rpc_limits
from windlass.db.rpc_client import End, Redriven
from windlass.errors import InvalidInput, JobFailed, WaitTimeout
from windlass.model import Attempt, Job, JobState, Page, Transition, check_max_attempts
from windlass.model.explanation import Explanation
from windlass.model.names import as_list, as_number, shown
from windlass.model.new_job import check_delay, check_priority

__all__ = ["JobOperations"]

_FIRST_LOOK, _LONGEST_LOOK = 0.02, 0.5
# Of payloads that are as large as they may be, a page of the first size is already more than enough.
_FIRST_PAGE, _LONGEST_PAGE, _PAGE_CHARACTERS = 20, 500, 4 * 1024 * 1024


class JobOperations(Core):
    """Each operation once: `effects` says how it is carried out."""

    def wait_job(
        self, job_id: UUID | str, *, timeout: float | None = None, tenant: TenantName | None = None
    ) -> Operation[Any]:
        """The result, once the job has succeeded; JobFailed if it ends otherwise, WaitTimeout if too late."""
        deadline = None if timeout is None else time.monotonic() + _checked(timeout)
        tenant_id, job = (yield from self._tenant(tenant)), as_id(job_id)
        pause = _FIRST_LOOK
        while True:
            end: End = yield from self._safely(rpc_client.get_job_end(tenant_id, job), until=deadline)
            if JobState(end.state).terminal:
                return self._result(job, end)
            left = pause if deadline is None else deadline - time.monotonic()
            if left <= 0:
                late = (
                    f"job {job} is still {end.state} after {timeout:.15g} second{'' if timeout == 1 else 's'}"
                )
                raise WaitTimeout(late, job_id=job, state=end.state)
            yield Pause(min(pause, left))
            pause = min(_LONGEST_LOOK, pause * 1.5)

    def _result(self, job_id: UUID, end: End) -> Any:
        if end.state == JobState.SUCCEEDED:
            decode = self.settled.decode_result
            return end.result if decode is None else decode(end.kind, end.result)
        error = end.error or {}
        why = end.reason or error.get("message")
        if not why and end.state == JobState.DEAD:  # an exception without a text still has a type
            why = error.get("type")
        count = f" after {end.attempts} attempt{'s' if end.attempts != 1 else ''}" if end.attempts else ""
        raise JobFailed(
            f"job {job_id} ({end.kind}) is {end.state}{count}" + (f": {why}" if why else ""),
            job_id=job_id,
            kind=end.kind,
            state=end.state,
            error=end.error,
            attempts=end.attempts,
            reason=end.reason,
        )

    def get_job(self, job_id: UUID | str, *, tenant: TenantName | None = None) -> Operation[Job]:
        """One job; NotFound if there is none in this tenant."""
        tenant_id = yield from self._tenant(tenant)
        return (yield from self._safely(rpc_client.get_job(tenant_id, as_id(job_id))))

    def explain_job(self, job_id: UUID | str, *, tenant: TenantName | None = None) -> Operation[Explanation]:
        """Why the job is not running now: every reason in the order in which they bind."""
        tenant_id = yield from self._tenant(tenant)
        return (yield from self._safely(rpc_limits.explain_job(tenant_id, as_id(job_id))))

    def list_jobs(
        self,
        *,
        states: str | Iterable[str] | None = None,
        queues: str | Iterable[str] | None = None,
        kinds: str | Iterable[str] | None = None,
        correlation_id: str | None = None,
        created_from: datetime | None = None,
        created_to: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
        documents: bool = True,
        tenant: TenantName | None = None,
    ) -> Operation[Page[Job]]:
        """One page of the jobs that pass all filters, newest first; waiting ones alone in claim order.

        A state may also be `scheduled` or `retrying`, as people see it.  A page may hold fewer jobs than
        asked for, even none, and still have a `next_cursor`.  Without `documents` it is read without
        payloads, results and errors, which may be large: they are None.
        """
        page, _ = yield from self._page_of_jobs(
            tenant,
            states=as_names(states),
            queues=as_names(queues),
            kinds=as_names(kinds),
            correlation_id=correlation_id,
            created_from=optional_moment(created_from, "created_from"),
            created_to=optional_moment(created_to, "created_to"),
            limit=as_count(limit),
            cursor=cursor,
            documents=documents,
        )
        return page

    def _page_of_jobs(self, tenant: TenantName | None, **page: Any) -> Operation[tuple[Page[Job], int]]:
        tenant_id = yield from self._tenant(tenant)
        return (yield from self._safely(rpc_client.list_jobs(tenant_id, **page)))

    def iterate_jobs(
        self,
        *,
        states: str | Iterable[str] | None = None,
        queues: str | Iterable[str] | None = None,
        kinds: str | Iterable[str] | None = None,
        correlation_id: str | None = None,
        created_from: datetime | None = None,
        created_to: datetime | None = None,
        documents: bool = True,
        tenant: TenantName | None = None,
    ) -> Operation[None]:
        """Every job that passes the filters, page after page; pages of large jobs are short."""
        filters: dict[str, Any] = {
            "states": as_names(states),
            "queues": as_names(queues),
            "kinds": as_names(kinds),
            "correlation_id": correlation_id,
            "created_from": optional_moment(created_from, "created_from"),
            "created_to": optional_moment(created_to, "created_to"),
            "documents": documents,
        }
        cursor: str | None = None
        limit = _FIRST_PAGE
        while True:
            page, size = yield from self._page_of_jobs(tenant, **filters, limit=limit, cursor=cursor)
            for job in page:
                yield Item(job)
            cursor = page.next_cursor
            if cursor is None:
                return
            fitting = _PAGE_CHARACTERS * max(1, len(page)) // max(1, size)
            limit = max(1, min(2 * limit, fitting, _LONGEST_PAGE))

    def list_attempts(
        self,
        job_id: UUID | str,
        *,
        limit: int = 100,
        before: int | None = None,
        tenant: TenantName | None = None,
    ) -> Operation[list[Attempt]]:
        """The job's attempts in their order, the running one included; `before` pages back."""
        page = as_count(limit), None if before is None else as_count(before, "attempt")
        tenant_id = yield from self._tenant(tenant)
        return (yield from self._safely(rpc_client.list_attempts(tenant_id, as_id(job_id), *page)))

    def list_history(
        self, job_id: UUID | str, *, limit: int = 1000, tenant: TenantName | None = None
    ) -> Operation[list[Transition]]:
        """Every transition of the job in order: when, what, by whom, in which attempt and why."""
        tenant_id = yield from self._tenant(tenant)
        return (yield from self._safely(rpc_client.list_history(tenant_id, as_id(job_id), as_count(limit))))

    def cancel_job(
        self,
        job_id: UUID | str,
        *,
        reason: str | None = None,
        actor: str | None = None,
        tenant: TenantName | None = None,
    ) -> Operation[JobState]:
        """Cancel a waiting job at once, or ask a running one to stop; the state says which it was.

        InvalidTransition if the job has ended otherwise.
        """
        tenant_id = yield from self._tenant(tenant)
        call = rpc_client.cancel_job(tenant_id, as_id(job_id), reason, self._actor(actor))
        return JobState((yield from self._safely(call)))

    def reschedule_job(
        self,
        job_id: UUID | str,
        *,
        run_at: datetime | None = None,
        delay: float | timedelta | None = None,
        priority: int | None = None,
        reason: str | None = None,
        actor: str | None = None,
        tenant: TenantName | None = None,
    ) -> Operation[datetime]:
        """Give a waiting job another time (a past one: now), another priority, or both.

        With neither it is due now; a priority alone leaves the time as it is.
        """
        if run_at is not None and delay is not None:
            raise InvalidInput("give either run_at or delay, and not both")
        wait = None if delay is None else timedelta(seconds=check_delay(delay))
        tenant_id = yield from self._tenant(tenant)
        moment = optional_moment(run_at, "run_at")
        urgency = None if priority is None else check_priority(priority)
        if wait is not None:
            now = yield from self._safely(rpc_client.clock())
            moment = now + wait
        call = rpc_client.reschedule_job(
            tenant_id, as_id(job_id), moment, urgency, reason, self._actor(actor)
        )
        return (yield from self._safely(call))

    def redrive_jobs(
        self,
        jobs: Iterable[UUID | str] | None = None,
        *,
        kinds: str | Iterable[str] | None = None,
        queues: str | Iterable[str] | None = None,
        error_like: str | None = None,
        finished_from: datetime | None = None,
        finished_to: datetime | None = None,
        everything: bool = False,
        limit: int = 1000,
        dry_run: bool = False,
        max_attempts: int | None = None,
        reason: str | None = None,
        actor: str | None = None,
        tenant: TenantName | None = None,
    ) -> Operation[list[Redriven]]:
        """Revive dead jobs, those named or those that pass the filters; with `dry_run` only say which.

        A job named that is not dead stops the whole call with InvalidTransition.  Without a name or a filter
        it must be said that `everything` is meant.
        """
        tenant_id = yield from self._tenant(tenant)
        call = rpc_client.redrive_jobs(
            tenant_id,
            jobs=None if jobs is None else [as_id(job) for job in as_list(jobs, "jobs")],
            kinds=as_names(kinds),
            queues=as_names(queues),
            error_like=error_like,
            finished_from=optional_moment(finished_from, "finished_from"),
            finished_to=optional_moment(finished_to, "finished_to"),
            limit=as_count(limit),
            dry_run=dry_run,
            max_attempts=None if max_attempts is None else check_max_attempts(max_attempts),
            reason=reason,
            actor=self._actor(actor),
            everything=everything,
        )
        # Said again after it took effect, it would find the named jobs no longer dead.
        return (yield from (self._safely(call) if dry_run else asking(call)))


def _checked(timeout: object) -> float:
    number = as_number(timeout)
    if number is None or (math.isinf(number) and isinstance(timeout, int)):
        raise InvalidInput(f"a timeout is a number of seconds, not {shown(timeout)}")
    return number
