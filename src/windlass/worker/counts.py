"""What became of the jobs that a worker saw: counted, and told."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from windlass.worker.reporter import Answer
from windlass.worker.signals import Signals
from windlass.worker.words import Word

__all__ = ["Counts", "note_answers"]


@dataclass(slots=True)
class Counts:
    """Counted when the database has answered; `lost` are attempts whose lease was gone."""

    claimed: int = 0
    succeeded: int = 0
    skipped: int = 0
    failed: int = 0
    timed_out: int = 0
    dead: int = 0
    """Of those that failed or timed out, the ones whose last attempt it was."""
    canceled: int = 0
    snoozed: int = 0
    released: int = 0
    lost: int = 0


def note_answers(counts: Counts, signals: Signals, words: Sequence[Word], answer: Answer) -> None:
    """Count words by what the database made of them, and tell."""
    if answer.code == "ok" and answer.state in ("succeeded", "skipped"):
        _note_completed(counts, signals, words, answer.state)
    else:
        for word in words:
            _note_other(counts, signals, word, answer)


def _note_completed(counts: Counts, signals: Signals, words: Sequence[Word], state: str) -> None:
    if state == "succeeded":
        counts.succeeded += len(words)
    else:
        counts.skipped += len(words)
    # The log has successes at debug only; whoever subscribed to signals is told of each.
    if signals.heard(logging.DEBUG if state == "succeeded" else logging.INFO):
        for word in words:
            signals.job(f"job.{state}", word.job, logging.INFO, seconds=word.seconds, cost_cents=word.cost)


def _note_other(counts: Counts, signals: Signals, word: Word, answer: Answer) -> None:
    if answer.code != "ok":
        counts.lost += 1
        signals.job("lease.lost", word.job, logging.WARNING, seconds=word.seconds, code=answer.code)
    elif word.verb == "snooze" and answer.state == "queued":
        counts.snoozed += 1
        signals.job("job.snoozed", word.job, logging.INFO, seconds=word.seconds, run_at=answer.run_at)
    elif word.verb == "release" and answer.state == "queued":
        counts.released += 1
        # Of what was given back before it began, there is no time to tell.
        signals.job("job.released", word.job, logging.INFO, seconds=word.seconds or None)
    else:
        _note_failed(counts, signals, word, answer)


def _note_failed(counts: Counts, signals: Signals, word: Word, answer: Answer) -> None:
    if answer.state == "canceled":
        counts.canceled += 1
        signals.job("job.canceled", word.job, logging.INFO, seconds=word.seconds or None)
        return
    if word.outcome == "timed_out":
        counts.timed_out += 1
    else:
        counts.failed += 1
    if answer.state == "dead":
        counts.dead += 1
    level = logging.ERROR if answer.state == "dead" else logging.WARNING
    if not signals.heard(level):
        return
    signals.job(
        f"job.{word.outcome}",
        word.job,
        level,
        seconds=word.seconds,
        state=answer.state,
        run_at=answer.run_at,
        error=json.loads(word.error or "null"),
        # A child's exception stayed in the child.
        **({"exception": word.exception} if word.exception else {}),
    )
