"""The one kind of job that `windlass bench` enqueues, in a tenant and a queue of its own."""

import time
from typing import Any

from windlass.app import Windlass
from windlass.model import NewJob

__all__ = ["KIND", "QUEUE", "TENANT", "make_app", "new_job"]

TENANT = "windlass-bench"
QUEUE = "windlass-bench"
KIND = "windlass-bench"

_TEXT = "About a hundred bytes of payload, as many jobs have"


def new_job(number: int, run: str) -> NewJob:
    """One job; `run` is the correlation id by which the jobs of one run are found."""
    payload = {"number": number, "to": f"user{number % 1000:03}@example.org", "text": _TEXT}
    return NewJob(kind=KIND, payload=payload, queue=QUEUE, correlation_id=run)


def make_app(starts: list[tuple[int, int]], **options: Any) -> Windlass:
    """An application whose handler does nothing but note when it began."""
    application = Windlass(**options)

    @application.job(kind=KIND, queue=QUEUE)
    async def bench(number: int, to: str, text: str) -> None:
        starts.append((number, time.monotonic_ns()))

    return application
