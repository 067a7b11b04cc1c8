"""What happens, told to logs, metrics and traces; they attach here and nowhere else."""

from windlass.telemetry.context import (
    JobFields,
    JobLog,
    current_job,
    fields_of,
    job_fields,
    mark_node,
    mark_running,
    running_job,
)
from windlass.telemetry.hub import Signal, Subscriber, Telemetry
from windlass.telemetry.logs import (
    HumanFormatter,
    JsonFormatter,
    LogFormat,
    configure_logging,
    hush_driver,
    log_signals,
)

__all__ = [
    "HumanFormatter",
    "JobFields",
    "JobLog",
    "JsonFormatter",
    "LogFormat",
    "Signal",
    "Subscriber",
    "Telemetry",
    "configure_logging",
    "current_job",
    "fields_of",
    "hush_driver",
    "job_fields",
    "log_signals",
    "mark_node",
    "mark_running",
    "running_job",
]
