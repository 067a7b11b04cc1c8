"""Frozen values and enums: what the rest of Windlass speaks about."""

from windlass.model.attempt import Attempt, Outcome
from windlass.model.audit import AuditFault, AuditPage, AuditReport
from windlass.model.claimed import ClaimedJob
from windlass.model.decision import Cancel, Decision, RetryAfter, Skip, Snooze
from windlass.model.document import (
    MAX_ERROR_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_RESULT_BYTES,
    check_json,
    json_array,
)
from windlass.model.event import Event, Transition
from windlass.model.failure import ErrorJson, describe_exception, fit_error
from windlass.model.gate import Gate
from windlass.model.identifier import uuid7, uuid7_many
from windlass.model.job import Job, JobState
from windlass.model.names import (
    check_idempotency_key,
    check_kind,
    check_queue,
    check_slug,
    storable_text,
)
from windlass.model.new_job import NewJob, Scope, check_moment
from windlass.model.node import Node
from windlass.model.queue import Queue, Unserved
from windlass.model.retry import RETRY_PRESETS, RetryPolicy, check_max_attempts, retry_preset
from windlass.model.row import Page
from windlass.model.tenant import Tenant

__all__ = [
    "MAX_ERROR_BYTES",
    "MAX_PAYLOAD_BYTES",
    "MAX_RESULT_BYTES",
    "RETRY_PRESETS",
    "Attempt",
    "AuditFault",
    "AuditPage",
    "AuditReport",
    "Cancel",
    "ClaimedJob",
    "Decision",
    "ErrorJson",
    "Event",
    "Gate",
    "Job",
    "JobState",
    "NewJob",
    "Node",
    "Outcome",
    "Page",
    "Queue",
    "RetryAfter",
    "RetryPolicy",
    "Scope",
    "Skip",
    "Snooze",
    "Tenant",
    "Transition",
    "Unserved",
    "check_idempotency_key",
    "check_json",
    "check_kind",
    "check_max_attempts",
    "check_moment",
    "check_queue",
    "check_slug",
    "describe_exception",
    "fit_error",
    "json_array",
    "retry_preset",
    "storable_text",
    "uuid7",
    "uuid7_many",
]
