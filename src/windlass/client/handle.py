"""What an enqueue gives back: the job's id, and what its producer may want to know or do later."""

from collections.abc import Callable
from typing import Any, Generic, NoReturn, Self, TypeVar
from uuid import UUID

from windlass.client.effects import Operation, asynchronous, synchronous
from windlass.client.jobs import JobOperations
from windlass.errors import InvalidInput
from windlass.model import Attempt, Job, JobState, Transition
from windlass.model.decision import Decision
from windlass.model.explanation import Explanation

__all__ = ["JobHandle", "SyncJobHandle"]

R_co = TypeVar("R_co", covariant=True)  # what the handler returns: its result, or a decision
T = TypeVar("T")  # the result alone: a decision is never waited for


class HandleOperations:
    """What can be asked of one job."""

    def __init__(self, jobs: JobOperations, job_id: UUID, tenant_id: UUID) -> None:
        self._jobs = jobs
        self._job_id = job_id
        self._tenant_id = tenant_id

    def wait(self, timeout: float | None = None) -> Operation[Any]:
        return self._jobs.wait_job(self._job_id, timeout=timeout, tenant=self._tenant_id)

    def get(self) -> Operation[Job]:
        """The job as it is now."""
        return self._jobs.get_job(self._job_id, tenant=self._tenant_id)

    def explain(self) -> Operation[Explanation]:
        """Why it is not running now, and what would change that."""
        return self._jobs.explain_job(self._job_id, tenant=self._tenant_id)

    def attempts(self) -> Operation[list[Attempt]]:
        """Its attempts, the running one included."""
        return self._jobs.list_attempts(self._job_id, tenant=self._tenant_id)

    def history(self) -> Operation[list[Transition]]:
        """Every transition so far, in order."""
        return self._jobs.list_history(self._job_id, tenant=self._tenant_id)

    def cancel(self, reason: str | None = None) -> Operation[JobState]:
        """Cancel it at once if it waits (`canceled`), or ask it to stop if it runs (`running`)."""
        return self._jobs.cancel_job(self._job_id, reason=reason, tenant=self._tenant_id)


class _Handle(Generic[R_co]):
    """The job's id; `created` is False for a duplicate, whose job was there before."""

    __slots__ = ("_jobs", "_run", "created", "id", "tenant_id")

    def __init__(
        self,
        jobs: JobOperations,
        run: Callable[[Operation[Any]], Any],
        job_id: UUID,
        tenant_id: UUID,
        created: bool,
    ) -> None:
        self.id = job_id
        self.tenant_id = tenant_id
        self.created = created
        self._jobs = jobs
        self._run = run

    @property
    def _operations(self) -> HandleOperations:
        return HandleOperations(self._jobs, self.id, self.tenant_id)  # only now: most handles are never asked

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {'created' if self.created else 'found'}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Handle):
            return NotImplemented
        return (self.id, self.tenant_id) == (other.id, other.tenant_id)

    def __hash__(self) -> int:
        return hash((self.id, self.tenant_id))

    def __reduce__(self) -> NoReturn:
        raise InvalidInput(
            "a handle cannot be pickled: send its id, and its tenant_id where it needs one, and ask for "
            "client.handle(id, tenant=tenant_id) there"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class JobHandle(_Handle[R_co]):
    """A job that was enqueued: await what it becomes."""

    __slots__ = ()

    async def wait(self: "JobHandle[T | Decision]", timeout: float | None = None) -> T:
        """The result, once the job has succeeded.

        JobFailed if it ends as dead, canceled or skipped; WaitTimeout if it has not ended in `timeout`
        seconds.  The database is asked every half second at most.
        """
        result: T = await self._run(self._operations.wait(timeout))
        return result

    get = asynchronous(HandleOperations.get)
    explain = asynchronous(HandleOperations.explain)
    attempts = asynchronous(HandleOperations.attempts)
    history = asynchronous(HandleOperations.history)
    cancel = asynchronous(HandleOperations.cancel)


class SyncJobHandle(_Handle[R_co]):
    """The same for blocking code."""

    __slots__ = ()

    def wait(self: "SyncJobHandle[T | Decision]", timeout: float | None = None) -> T:
        """The same as that of a `JobHandle`, blocking."""
        result: T = self._run(self._operations.wait(timeout))
        return result

    get = synchronous(HandleOperations.get)
    explain = synchronous(HandleOperations.explain)
    attempts = synchronous(HandleOperations.attempts)
    history = synchronous(HandleOperations.history)
    cancel = synchronous(HandleOperations.cancel)
