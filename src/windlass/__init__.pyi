from windlass.app import JobFunction, Windlass
from windlass.client import JobHandle, SyncJobHandle
from windlass.cluster import LeaderContext
from windlass.errors import (
    Forbidden,
    IdempotencyConflict,
    InvalidInput,
    InvalidTransition,
    JobFailed,
    LeaseLost,
    LimitExceeded,
    NotFound,
    NotLeader,
    SchemaMismatch,
    Unavailable,
    WaitTimeout,
    WindlassError,
)
from windlass.model import Cancel, Job, JobState, NewJob, RetryAfter, RetryPolicy, Skip, Snooze
from windlass.worker.context import JobContext

__version__: str

__all__ = [
    "Cancel",
    "Forbidden",
    "IdempotencyConflict",
    "InvalidInput",
    "InvalidTransition",
    "Job",
    "JobContext",
    "JobFailed",
    "JobFunction",
    "JobHandle",
    "JobState",
    "LeaderContext",
    "LeaseLost",
    "LimitExceeded",
    "NewJob",
    "NotFound",
    "NotLeader",
    "RetryAfter",
    "RetryPolicy",
    "SchemaMismatch",
    "Skip",
    "Snooze",
    "SyncJobHandle",
    "Unavailable",
    "WaitTimeout",
    "Windlass",
    "WindlassError",
]
