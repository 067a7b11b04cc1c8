"""The handler of redrives: slice by slice, each of them one transaction that moves the cursor.

What is revived, how fast, and when it is over is decided in SQL (`tend_redrive`, `move_redrive`).  Here is
only what SQL cannot know: whether a patched payload fits the handler of its kind, and which concurrency key
it has then.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from windlass.db.rpc_redrive import RedriveTurn, move_redrive, tend_redrive
from windlass.errors import InvalidInput, LeaseLost, Unavailable
from windlass.model import MAX_PAYLOAD_BYTES, ClaimedJob, Snooze
from windlass.model.redrive import REDRIVE_KIND, SYSTEM_QUEUE
from windlass.telemetry import current_job
from windlass.worker.leases import elapsed_clock
from windlass.worker.registry import JobDefinition, Registry
from windlass.worker.service import Runner

__all__ = ["payload_fault", "redrive_definition"]

TURN_SECONDS = 30.0
"""After this time a redrive goes back into line: on a busy node others want its slot."""
_LONGEST_PAUSE = 1.0
_WORTH_A_SNOOZE = 5.0
_LONGEST_SNOOZE = 30.0
_HAND_OVER_STEP, _LONGEST_HAND_OVER = 0.25, 5.0
_OUTAGE_PAUSE = 0.5

_log = logging.getLogger("windlass.job")


def redrive_definition(runner: Runner, registry: Registry) -> JobDefinition:
    """The kind of job that a redrive is, for a worker that knows the kinds of `registry`.

    It takes no context, although it needs the token: a context would make every claim of the worker wait
    for the disk, and nothing here is fenced by the version.
    """

    async def redrive() -> Any:
        job = current_job()
        if job is None:
            raise LeaseLost("a redrive is run by a worker")
        return await _Run(runner, registry, job).turn()

    return JobDefinition.from_function(redrive, kind=REDRIVE_KIND, queue=SYSTEM_QUEUE)


def payload_fault(registry: Registry, kind: str, payload: str) -> str | None:
    """Why this payload (JSON text) could not be handed to the handler of its kind; None if it can."""
    if _least_bytes(payload) > MAX_PAYLOAD_BYTES:
        return f"the payload would have more than {MAX_PAYLOAD_BYTES} bytes"
    try:
        patched_key(registry.get(kind), payload)
    except InvalidInput as error:
        return error.message
    return None


def _least_bytes(text: str) -> int:
    """What the database counts (`_least_json_bytes`): its text has spaces, and numbers written out."""
    return len(text.replace(", ", ",").replace(": ", ":").replace("00", "").encode())


def patched_key(definition: JobDefinition, payload: str) -> str | None:
    """The concurrency key that a payload (JSON text) gives its job; InvalidInput if it fits no handler."""
    args, kwargs = definition.decode_payload(payload.encode())
    if definition.key is None:
        return None
    try:
        return definition.encode_keyed(*args, **kwargs)[1]
    except InvalidInput:
        raise
    except Exception as error:  # somebody's function, and a payload that it never saw before
        raise InvalidInput(f"the key of {definition.kind!r} cannot be made: {error!r}") from error


class _Run:
    """One attempt at a redrive."""

    def __init__(self, runner: Runner, registry: Registry, job: ClaimedJob) -> None:
        self._runner = runner
        self._registry = registry
        self._job = job
        self._until = elapsed_clock() + TURN_SECONDS

    async def turn(self) -> Mapping[str, Any] | Snooze:
        """Work until it is over, or until somebody else should have the slot."""
        pause = 0.0
        while elapsed_clock() < self._until:
            try:
                turn = await self._runner.run(tend_redrive(self._job.token, self._job.id))
                if turn.outcome is not None:
                    return turn.counts
                if turn.kind is not None and turn.kind not in self._registry:
                    return self._hand_over(turn.kind)
                if turn.wait > _WORTH_A_SNOOZE:
                    return Snooze(min(turn.wait, _LONGEST_SNOOZE))
                pause = min(turn.wait, _LONGEST_PAUSE)
                if turn.upto is not None:
                    await self._move(turn)
            except Unavailable:  # the database is away, or somebody holds a job of the slice
                pause = _OUTAGE_PAUSE
            await asyncio.sleep(pause)
        return Snooze(pause)

    async def _move(self, turn: RedriveTurn) -> None:
        refused = self._refusals(turn)
        jobs = [job for job in turn.jobs if job not in refused]
        keys, limit = self._keys(turn, jobs)
        words = move_redrive(self._job.token, self._job.id, turn, jobs, refused, keys, limit)
        await self._runner.run(words)

    def _keys(self, turn: RedriveTurn, jobs: list[UUID]) -> tuple[list[str | None] | None, int | None]:
        """What these jobs have as keys from now on; None where that stays as it is."""
        if turn.kind is None or (definition := self._registry.get(turn.kind)).key is None:
            return None, None
        payloads = dict(zip(turn.jobs, turn.payloads, strict=True))
        return [patched_key(definition, payloads[job]) for job in jobs], definition.concurrency_limit

    def _refusals(self, turn: RedriveTurn) -> dict[UUID, str]:
        if turn.kind is None:
            return {}
        faults = {
            job: payload_fault(self._registry, turn.kind, payload)
            for job, payload in zip(turn.jobs, turn.payloads, strict=True)
        }
        return {job: fault for job, fault in faults.items() if fault is not None}

    def _hand_over(self, kind: str) -> Snooze:
        """Only a worker that knows the kind can tell what fits: back into line, for whoever comes first.

        That may be one like this again, many times over; each pause is one for all, so it stays short.
        """
        _log.info("its payloads are patched, and this node does not know the kind %s: left to others", kind)
        return Snooze(min(_LONGEST_HAND_OVER, _HAND_OVER_STEP * self._job.version))
