"""Log lines: JSON for machines, one readable line for a terminal.

Nothing here is active by import.  A command calls `configure_logging`; a program that embeds
Windlass keeps its own logging, in which everything of ours is below the logger "windlass".
"""

import json
import logging
import math
import os
import re
import sys
from collections.abc import Container, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TextIO, TypeAlias

from windlass.errors import InvalidInput
from windlass.model import ErrorJson, describe_exception, fit_error
from windlass.model.failure import is_error, lacks
from windlass.telemetry.context import JOB_FIELDS, JobFields
from windlass.telemetry.hub import Signal, Subscriber

LogFormat: TypeAlias = Literal["auto", "json", "human"]

MAX_LINE_LENGTH = 64 * 1024
_LEVELS = ("debug", "info", "warning", "error", "critical")
_LEVELS_IN_LOG: Mapping[str, int] = {"job.succeeded": logging.DEBUG}
_SAID_IN_WORDS = frozenset({"worker.summary"})
"""Signals whose fields a person has read already, in the message."""
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_SECRET = frozenset({"payload", "result", "token", "password", "database_url", "listen_url"})
_REDACTED = "[redacted]"
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_COLORS: Mapping[str, str] = {"debug": "2", "warning": "33", "error": "31", "critical": "1;31"}


def log_signals(logger: logging.Logger) -> Subscriber:
    """A subscriber that writes each signal to `logger`: `job.timed_out` reads "job timed out".

    A success is written at debug: a line may take longer than the job, and a summary has its count.
    """

    def subscriber(signal: Signal) -> None:
        level = _LEVELS_IN_LOG.get(signal.name, signal.level)
        if logger.isEnabledFor(level):
            fields = dict(signal.fields)
            message = str(fields.pop("message", signal.name.replace(".", " ").replace("_", " ")))
            exc = fields.pop("exception", None)
            # A record has attributes of its own, which logging does not let a caller replace.
            extra = {f"{name}_" if name in _STANDARD else name: value for name, value in fields.items()}
            logger.log(level, "%s", message, extra={"signal": signal.name, **extra}, exc_info=exc)

    return subscriber


class JsonFormatter(logging.Formatter):
    """One JSON object per line, always with the same ten fields first; what does not apply is null."""

    def __init__(self, worker_id: str | None = None) -> None:
        super().__init__()
        self._worker_id = worker_id

    def format(self, record: logging.LogRecord) -> str:
        line = _encode(self._fields(record, 16 * 1024, extras=True))
        if len(line) <= MAX_LINE_LENGTH:
            return line
        fields = self._fields(record, 4 * 1024, extras=False)
        fields |= {name: str(fields[name])[:200] for name in JOB_FIELDS if fields[name] is not None}
        return _encode({**fields, "message": fields["message"][:2000] + "…", "cut_from": len(line)})

    def _fields(self, record: logging.LogRecord, error_bytes: int, *, extras: bool) -> dict[str, Any]:
        known = vars(record)
        fields: dict[str, Any] = {
            "timestamp": _timestamp(record),
            "level": record.levelname.lower(),
            **{name: known.get(name) for name in JOB_FIELDS},
            "message": _message(record),
            "duration_ms": _number(known.get("duration_ms")),
            "logger": record.name,
        }
        if fields["worker_id"] is None:
            fields["worker_id"] = self._worker_id
        if extras:
            fields.update(_extras(record, fields))
        if record.exc_info and record.exc_info[1]:
            fields["error"] = _error(known.get("error"), record.exc_info[1], error_bytes)
        return fields


def _error(described: object, exc: BaseException, limit: int) -> ErrorJson:
    """What is known of an exception; to describe one again takes longer than all else of its line."""
    if is_error(described) and not lacks(described, limit):
        return fit_error(described, limit)
    return describe_exception(exc, limit)


class HumanFormatter(logging.Formatter):
    """One line for a person: time, level, which job, what, and what else is known as name=value."""

    def __init__(self, *, color: bool = False) -> None:
        super().__init__()
        self._color = color

    def format(self, record: logging.LogRecord) -> str:
        level = record.levelname.lower()
        moment = datetime.fromtimestamp(record.created, UTC).astimezone()
        parts = [moment.strftime("%H:%M:%S.%f")[:-3], self._paint(level), self._job(record), _message(record)]
        if (duration := getattr(record, "duration_ms", None)) is not None:
            parts.append(f"({duration} ms)")
        shown = bool(record.exc_info and record.exc_info[1])
        if getattr(record, "signal", None) not in _SAID_IN_WORDS:
            parts += [
                f"{name}={_as_text(value)}"
                for name, value in _extras(record, JOB_FIELDS).items()
                if value is not None
                and name not in ("signal", "node_id")
                and not (shown and name == "error" and is_error(value))  # the same is shown below
            ]
        text = " ".join(part for part in parts[2:] if part)
        if record.exc_info and shown:
            text += "\n" + self.formatException(record.exc_info)
        # A second line is indented, so that no message can pass for a line of its own.
        return f"{parts[0]} {parts[1]} " + _CONTROL.sub(_escape, text).replace("\n", "\n    ")

    def _job(self, record: logging.LogRecord) -> str:
        known = vars(record)
        if known.get("job_id") is None:
            return ""
        attempt = "" if known.get("attempt") is None else f"#{known['attempt']}"
        return f"[{known.get('kind') or 'job'} {str(known['job_id'])[-8:]}{attempt}]"

    def _paint(self, level: str) -> str:
        color = _COLORS.get(level) if self._color else None
        return f"\x1b[{color}m{level:<8}\x1b[0m" if color else f"{level:<8}"


class CommandHandler(logging.StreamHandler[TextIO]):
    """The one handler that `configure_logging` owns."""


def configure_logging(
    format: LogFormat = "auto",
    level: str = "info",
    stream: TextIO | None = None,
    *,
    worker_id: str | None = None,
) -> CommandHandler:
    """Send every line of this process to `stream` (standard error); for commands only.

    "auto" is human on a terminal and JSON otherwise.  Called again, it replaces what it set before
    and leaves the handlers of others alone.
    """
    if level not in _LEVELS:
        raise InvalidInput(f"the log level must be one of {', '.join(_LEVELS)}, not {level!r}")
    if format not in ("auto", "json", "human"):
        raise InvalidInput(f"the log format must be auto, json or human, not {format!r}")
    out = sys.stderr if stream is None else stream
    handler = CommandHandler(out)
    terminal = out.isatty()
    if format == "human" or (format == "auto" and terminal):
        handler.setFormatter(HumanFormatter(color=terminal and not os.environ.get("NO_COLOR")))
    else:
        handler.setFormatter(JsonFormatter(worker_id))
    handler.addFilter(JobFields())
    root = logging.getLogger()
    for old in [known for known in root.handlers if isinstance(known, CommandHandler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    return handler


def hush_driver() -> None:
    """Keep the driver's remarks on broken connections from standard error where nobody set up logging.

    What they are about is told by the error itself, and whoever reads that may expect nothing else there.
    """
    for name in ("psycopg", "psycopg_pool"):
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


def _timestamp(record: logging.LogRecord) -> str:
    return _moment(datetime.fromtimestamp(record.created, UTC), "milliseconds")


def _moment(moment: datetime, timespec: str = "auto") -> str:
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")


def _as_text(value: Any) -> str:
    return _moment(value) if isinstance(value, datetime) else str(value)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as exc:  # a wrong format string of somebody's handler still tells its text
        return f"{record.msg} (arguments do not fit: {type(exc).__name__})"


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def _extras(record: logging.LogRecord, known: Container[str]) -> dict[str, Any]:
    return {
        name: _REDACTED if name in _SECRET else value
        for name, value in vars(record).items()
        if name not in _STANDARD and name not in known and name != "duration_ms"
    }


def _encode(fields: Mapping[str, Any]) -> str:
    try:
        return json.dumps(fields, default=_as_text, allow_nan=False)
    except Exception:  # a number that is none, a circle, a value whose own text fails
        return json.dumps({name: _harmless(value) for name, value in fields.items()})


def _harmless(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value, default=_as_text, allow_nan=False))
    except Exception:
        return f"({type(value).__name__})"


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
