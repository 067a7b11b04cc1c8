"""What happens, told to logs, metrics and traces; they attach here and nowhere else."""

from windlass.telemetry.context import JobFields, current_job, job_fields, mark_running, running_job
from windlass.telemetry.hub import Signal, Subscriber, Telemetry
from windlass.telemetry.logs import (
    HumanFormatter,
    JsonFormatter,
    LogFormat,
    configure_logging,
    log_signals,
)

__all__ = [
    "HumanFormatter",
    "JobFields",
    "JsonFormatter",
    "LogFormat",
    "Signal",
    "Subscriber",
    "Telemetry",
    "configure_logging",
    "current_job",
    "job_fields",
    "log_signals",
    "mark_running",
    "running_job",
]
