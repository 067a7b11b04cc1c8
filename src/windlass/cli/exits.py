"""What the command says when it fails: an exit code for scripts, a sentence for people."""

import errno
import json
import traceback
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import typer
from pydantic import ValidationError

from windlass.cli.text import clean, plain
from windlass.errors import WindlassError
from windlass.model.faults import fault_in_words
from windlass.model.names import shown

__all__ = ["CODES_HELP", "FULL", "Exit", "describe", "exit_code", "report"]


class Exit(IntEnum):
    """The exit codes; a number never changes its meaning."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    FORBIDDEN = 5
    INVALID_INPUT = 6
    UNAVAILABLE = 7
    SCHEMA_MISMATCH = 8
    JOB_FAILED = 9
    WAIT_TIMEOUT = 10
    LIMIT_EXCEEDED = 11
    AUDIT_BROKEN = 12
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141


FULL = (errno.ENOSPC, errno.EDQUOT)
"""What a device says that takes no more."""

_BY_CODE: Mapping[str, Exit] = {
    "usage": Exit.USAGE,
    "not_found": Exit.NOT_FOUND,
    "unknown_kind": Exit.NOT_FOUND,
    "idempotency_conflict": Exit.CONFLICT,
    "invalid_transition": Exit.CONFLICT,
    "lease_lost": Exit.CONFLICT,
    "not_leader": Exit.CONFLICT,
    "forbidden": Exit.FORBIDDEN,
    "invalid_input": Exit.INVALID_INPUT,
    "unavailable": Exit.UNAVAILABLE,
    "schema_mismatch": Exit.SCHEMA_MISMATCH,
    "job_failed": Exit.JOB_FAILED,
    "wait_timeout": Exit.WAIT_TIMEOUT,
    "limit_exceeded": Exit.LIMIT_EXCEEDED,
}

CODES_HELP = """Exit codes

  0  done
  1  failed for another reason, or doctor found a fault
  2  the command line is wrong
  3  not_found, unknown_kind
  4  idempotency_conflict, invalid_transition, lease_lost, not_leader
  5  forbidden
  6  invalid_input
  7  unavailable
  8  schema_mismatch
  9  the awaited job ended, but not succeeded
 10  the wait ended before the job did
 11  limit_exceeded
 12  an audit was altered
130  interrupted
141  whoever read the output closed it"""

_WHAT_TO_DO: Mapping[str, str] = {
    "internal": "This was not foreseen; run it again with --debug to see where it happened.",
    "not_found": "Check the name or id, and the tenant it belongs to (--tenant).",
    "unknown_kind": "Check the kind, and that the application which handles it is the one named.",
    "idempotency_conflict": "Use another key, or send what the key was first used with.",
    "invalid_transition": "Look at the job as it is now: windlass jobs show ID.",
    "lease_lost": "Nothing was changed; the job belongs to another attempt.",
    "not_leader": "Cluster jobs need a leader: windlass nodes shows who leads, and who could.",
    "forbidden": "Connect as a role that may do this, for the tenant that it belongs to.",
    "unavailable": "Is the database running and reachable? `windlass doctor` looks closer.",
    "schema_mismatch": "`windlass migrate` installs what is missing; a newer database needs a newer release.",
    "wait_timeout": "The job is still on its way; wait again, or look: windlass jobs show ID.",
    "limit_exceeded": "`windlass limits` shows what is used of it; try again later, or raise it.",
}


def exit_code(code: str) -> Exit:
    """The exit code for an error's code."""
    return _BY_CODE.get(code, Exit.FAILED)


def describe(error: BaseException) -> tuple[str, str, Mapping[str, Any]]:
    """An exception as code, sentence and details."""
    if isinstance(error, WindlassError):
        return error.code, error.message, error.details
    if isinstance(error, typer.Abort):
        return "aborted", "nothing was done", {}
    if isinstance(error, typer.TyperException):
        return "usage", _usage_sentence(error), _usage_details(error)
    if isinstance(error, OSError) and error.errno in FULL:
        return "internal", f"there is no room to write to: {error}", {"hint": "Make room there."}
    sentence = str(error).strip() or "no further words"
    return "internal", f"{type(error).__name__}: {sentence}", {}


def _usage_sentence(error: typer.TyperException) -> str:
    fault = error.__cause__
    if isinstance(fault, ValidationError) and (found := fault.errors()[0])["type"] != "value_error":
        error.message = f"{fault_in_words(found)}, not {shown(found['input'])}"
    # The parser leaves in what pydantic puts before a sentence.
    return error.format_message().strip().replace("Value error, ", "")


def _usage_details(error: typer.TyperException) -> Mapping[str, Any]:
    context = getattr(error, "ctx", None)
    # Without a word there is no sentence: the whole help has been shown.
    return (
        {}
        if context is None or not error.format_message().strip()
        else {"hint": f"Try: {context.command_path} --help"}
    )


def report(
    code: str,
    message: str,
    details: Mapping[str, Any] | None = None,
    *,
    as_json: bool,
    error: BaseException | None = None,
) -> str:
    """The text for standard error; with the traceback of `error`, if that is given."""
    advice = (details or {}).get("hint") or _WHAT_TO_DO.get(code)
    if as_json:
        hint = {"hint": advice} if advice else {}
        found = {"code": code, "message": message, "details": plain({**(details or {}), **hint})}
        if error is not None:
            found["traceback"] = "".join(traceback.format_exception(error))
        return json.dumps({"error": found})
    # What a handler said of its error is data: only our own sentences may have lines.
    said = clean(message, lines=code != "job_failed")
    text = f"windlass: {said} [{code}]" if message else ""
    if advice:
        text += f"\n  {clean(str(advice), lines=True)}"
    if error is not None:
        text = "".join(traceback.format_exception(error)) + text
    return text
