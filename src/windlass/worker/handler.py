"""One call of a handler, wherever it runs: the payload is read, the handler called, its word made."""

import asyncio
from typing import Any

from windlass.errors import WindlassError
from windlass.model import ClaimedJob
from windlass.worker.context import JobContext
from windlass.worker.registry import JobDefinition
from windlass.worker.words import Limits, Now, Word, word_for_error, word_for_rollback, word_for_value

__all__ = ["run_async", "run_sync"]

# sys.exit() in a handler is that job's affair, not ours, and so is an interrupt that it raises: a real one
# goes to whoever handles signals.
_FAILURES = (Exception, SystemExit, KeyboardInterrupt)


def run_sync(
    definition: JobDefinition, job: ClaimedJob, context: JobContext | None, limits: Limits, now: Now
) -> Word:
    """Call the handler in this thread; one that is async gets an event loop for the time of the call."""
    try:
        if definition.is_async:
            # Its error stays in there: raised from here, it would have frames that have a task that has it.
            word = asyncio.run(run_async(definition, job, context, limits, now))
        else:
            value = _call(definition, job, context)
            word = word_for_value(job, value, limits, now, definition.results)
    except BaseException as error:  # no thread and no child process of ours is ended by raising something
        word = word_for_error(job, _from_handler(error), limits)
    if context is not None and context.owes:
        word = _unless_unpaid(word, context.settle_sync(), limits)
    return _with_context(word, context)


async def run_async(
    definition: JobDefinition, job: ClaimedJob, context: JobContext | None, limits: Limits, now: Now
) -> Word:
    """Call the handler on this event loop."""
    try:
        called = _call(definition, job, context)
        value = await called if definition.is_async else called
        word = word_for_value(job, value, limits, now, definition.results)
    except _FAILURES as error:
        word = word_for_error(job, _from_handler(error), limits)
    if context is not None and context.owes:
        word = _unless_unpaid(word, await context.settle(), limits)
    return _with_context(word, context)


def _call(definition: JobDefinition, job: ClaimedJob, context: JobContext | None) -> Any:
    args, kwargs = definition.shape.decode(job.payload_json)
    if definition.shape.wants_context:
        return definition.handler(context, *args, **kwargs)
    return definition.handler(*args, **kwargs)


def _from_handler(error: BaseException) -> BaseException:
    """The error, with a traceback that begins in the handler and not in here."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    return error.with_traceback(trace)


def _unless_unpaid(word: Word, fault: WindlassError | None, limits: Limits) -> Word:
    """A success counts only if every cost that was said is written, also one that was not awaited."""
    return word_for_error(word.job, fault, limits) if fault is not None and word.verb == "complete" else word


def _with_context(word: Word, context: JobContext | None) -> Word:
    if context is None:
        return word
    word.cost = context.cost_cents or None
    word.finished = context.finished
    # After a rollback the attempt has failed: what is returned may say how, and not that it has not.
    return word_for_rollback(word) if word.finished and word.verb != "fail" else word
