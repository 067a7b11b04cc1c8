"""Redrives started by an application, which knows what its handlers take."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from windlass.errors import InvalidInput
from windlass.model.redrive import DeadJob, NewRedrive
from windlass.worker.redrive import payload_fault
from windlass.worker.registry import Registry

__all__ = ["RedriveOptions", "find_faults", "refuse_broken_patch"]


class RedriveOptions(TypedDict, total=False):
    """Which dead jobs are meant, what becomes of them, and how fast; see `NewRedrive`."""

    jobs: Iterable[UUID | str] | None
    kinds: str | Iterable[str] | None
    queues: str | Iterable[str] | None
    error_like: str | None
    died_from: datetime | None
    died_to: datetime | None
    everything: bool
    patch: Mapping[str, Any] | None
    max_attempts: int | None
    throttle: float | None
    stop_rate: float | None
    stop_after: int


def find_faults(registry: Registry, sample: Iterable[DeadJob]) -> dict[UUID, str]:
    """The jobs of a sample whose patched payloads the handlers known here would not take, and why."""
    known = [job for job in sample if job.kind in registry]
    faults = {
        job.id: payload_fault(registry, job.kind, json.dumps(job.patched, ensure_ascii=False))
        for job in known
    }
    return {job_id: fault for job_id, fault in faults.items() if fault is not None}


def refuse_broken_patch(
    registry: Registry, redrive: NewRedrive, sample: Iterable[DeadJob]
) -> dict[UUID, str]:
    """InvalidInput if the patch breaks every payload of a sample; otherwise the few that it breaks."""
    jobs = list(sample)
    faults = {} if redrive.patch is None else find_faults(registry, jobs)
    if jobs and len(faults) == len(jobs):
        job_id, fault = next(iter(faults.items()))
        raise InvalidInput(f"with this patch no payload fits: of job {job_id}, {fault}", job_id=job_id)
    return faults
