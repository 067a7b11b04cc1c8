"""A worker that gets no thread for a handler goes on with those that it has."""

import threading
from typing import Any

import pytest

from tests.integration.crew import Crew
from tests.support import Database


@pytest.mark.parametrize("had", [0, 2])
async def test_a_thread_that_cannot_be_had_loses_no_job(
    db: Database, monkeypatch: pytest.MonkeyPatch, had: int
) -> None:
    """As where a container may have only so many processes: the interpreter raises where it starts one."""
    crew = Crew(db)
    started = refused = 0
    start = threading.Thread.start

    def limited(thread: Any) -> None:
        nonlocal started, refused
        if thread.name.startswith("windlass handler"):
            if started >= had and refused < 6:
                refused += 1
                raise RuntimeError("can't start new thread")
            started += 1
        start(thread)

    def handle(n: int) -> int:
        return n

    monkeypatch.setattr(threading.Thread, "start", limited)
    crew.knows(handle)
    ids = [crew.enqueue("handle", payload={"n": n}) for n in range(12)]
    async with crew.worker(concurrency=8) as worker:
        await worker.idle()
    assert refused > 0
    assert [crew.job(job_id).state for job_id in ids] == ["succeeded"] * 12
    assert crew.leases == 0
