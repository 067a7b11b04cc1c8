"""A word: what is to be said to the database about one running job, with the token that gives it force."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from windlass.errors import InvalidInput
from windlass.model import (
    MAX_ERROR_BYTES,
    MAX_RESULT_BYTES,
    Cancel,
    ClaimedJob,
    RetryAfter,
    Skip,
    Snooze,
    describe_exception,
    storable_text,
)
from windlass.model.retry import MAX_DELAY_SECONDS
from windlass.worker.context import StopReason
from windlass.worker.payload import InvalidPayload
from windlass.worker.result import ANY_RESULT, ResultShape

__all__ = [
    "Limits",
    "Now",
    "Verb",
    "Word",
    "word_for_crash",
    "word_for_disorder",
    "word_for_error",
    "word_for_rollback",
    "word_for_stop",
    "word_for_value",
]

Now: TypeAlias = Callable[[], datetime]
Verb: TypeAlias = Literal["complete", "fail", "snooze", "release"]

_STOPPED = {
    "cancel_requested": ("Canceled", "the job was canceled while it ran"),
    "timed_out": ("TimedOut", "the handler ran longer than its timeout"),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a result and of an error is kept."""

    result_bytes: int = MAX_RESULT_BYTES
    error_bytes: int = MAX_ERROR_BYTES


@dataclass(slots=True)
class Word:
    """Results and errors are JSON texts already: what cannot be written is known before a batch is made."""

    job: ClaimedJob
    verb: Verb
    state: Literal["succeeded", "skipped"] = "succeeded"
    result: str | None = None
    outcome: Literal["failed", "timed_out", "canceled"] = "failed"
    error: str | None = None
    delay: float | None = None
    cost: int | None = None
    """What the handler entered in the ledger; told to whoever listens, not said again."""
    finished: bool = False
    """The handler finished the job in its own transaction: this word counts only if that was rolled back."""
    repeated: bool = False
    """Said before without an answer."""
    seconds: float = 0.0
    exception: BaseException | None = field(default=None, repr=False)

    def detached(self) -> "Word":
        """The same for others, and the exception with it.

        Its traceback leads to the handler's frame, and that one's callers to the frames that have this word:
        together they would live on, with all that the handler had, until somebody collects garbage.
        """
        if self.exception is None:
            return self
        word, self.exception = replace(self), None
        return word


def word_for_value(
    job: ClaimedJob, value: Any, limits: Limits, now: Now, results: ResultShape = ANY_RESULT
) -> Word:
    """What a handler's return value says.  `now` tells the database's time, by which `until` is meant."""
    if value is None:
        return Word(job, "complete")
    if isinstance(value, Snooze):
        return Word(job, "snooze", delay=_snooze_seconds(value, now))
    if isinstance(value, RetryAfter):
        return Word(job, "fail", delay=value.delay_seconds, error=_error("RetryAfter", value.reason))
    if isinstance(value, Cancel):
        return Word(job, "fail", outcome="canceled", error=_error("Canceled", value.reason))
    if isinstance(value, Skip):
        reason = _json({"reason": value.reason}) if value.reason else None
        return Word(job, "complete", state="skipped", result=reason)
    try:
        return Word(job, "complete", result=results.encode(value, limits.result_bytes))
    except InvalidInput as error:
        return word_for_error(job, error, limits)


def word_for_error(job: ClaimedJob, error: BaseException, limits: Limits) -> Word:
    """What an exception says: this attempt has failed."""
    if isinstance(error, InvalidPayload):  # nobody's code has run: a traceback would only show ours
        return Word(job, "fail", error=_error("InvalidPayload", str(error)))
    return Word(job, "fail", error=_json(describe_exception(error, limits.error_bytes)), exception=error)


def word_for_stop(job: ClaimedJob, reason: StopReason) -> Word | None:
    """What is said of an attempt that was stopped from outside; of a lost lease, nothing."""
    if reason == "lease_lost":
        return None
    if reason in ("shutdown", "gate_closed"):
        return Word(job, "release")
    error = _error(*_STOPPED[reason])
    return Word(job, "fail", outcome="timed_out" if reason == "timed_out" else "canceled", error=error)


def word_for_crash(job: ClaimedJob, code: int) -> Word:
    """What is said of an attempt whose child process ended under it."""
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return Word(
        job, "fail", error=_error("ChildCrashed", f"the child process {how} while it ran the handler")
    )


def word_for_disorder(job: ClaimedJob) -> Word:
    """What is said of an attempt whose child process spoke of another one: whose word is whose?"""
    message = "the child process answered for another attempt than the one it was given, and was killed"
    return Word(job, "fail", error=_error("ChildCrashed", message))


def word_for_rollback(word: Word) -> Word:
    """For when the handler's own transaction was to commit its success, and that did not happen."""
    message = "the handler finished its job in a transaction that was not committed"
    return Word(
        word.job,
        "fail",
        error=_error("RolledBack", message),
        cost=word.cost,
        finished=True,
        seconds=word.seconds,
    )


def _error(kind: str, message: str) -> str:
    return _json({"type": kind, "message": storable_text(message, 4096)})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _snooze_seconds(value: Snooze, now: Now) -> float:
    if value.until is None:
        return value.delay_seconds or 0.0
    return min(MAX_DELAY_SECONDS, max(timedelta(), value.until - now()).total_seconds())
