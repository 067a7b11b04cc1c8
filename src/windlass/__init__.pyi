from windlass.app import JobFunction, Windlass
from windlass.client import JobHandle, SyncJobHandle
from windlass.cluster import LeaderContext
from windlass.errors import (
    IdempotencyConflict,
    InvalidInput,
    InvalidTransition,
    JobFailed,
    LimitExceeded,
    NotFound,
    NotLeader,
    Unavailable,
    WaitTimeout,
    WindlassError,
)
from windlass.model import Cancel, Job, JobState, NewJob, RetryAfter, RetryPolicy, Skip, Snooze
from windlass.worker.context import JobContext

__all__ = [
    "Cancel",
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
    "LimitExceeded",
    "NewJob",
    "NotFound",
    "NotLeader",
    "RetryAfter",
    "RetryPolicy",
    "Skip",
    "Snooze",
    "SyncJobHandle",
    "Unavailable",
    "WaitTimeout",
    "Windlass",
    "WindlassError",
]
