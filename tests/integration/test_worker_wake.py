"""A committed enqueue wakes an idle worker; polling is the guarantee behind it."""

import asyncio
import os
import signal
import threading
import time
from functools import partial
from uuid import UUID, uuid4

import pytest

from tests.integration.crew import Crew, until
from tests.support import Database
from windlass.db.listen import Listener

NEVER = 86_400.0


@pytest.fixture
def crew(db: Database) -> Crew:
    crew = Crew(db)

    async def fine() -> None: ...

    crew.knows(fine)
    return crew


def succeeded(crew: Crew, job_id: UUID) -> bool:
    return crew.state(job_id) == "succeeded"


async def test_a_notice_wakes_an_idle_worker(crew: Crew) -> None:
    async with crew.worker(poll_seconds=NEVER) as worker:
        for _ in range(3):
            await until(lambda: worker.resting, "it waits for a notice")
            job_id = crew.enqueue("fine")
            await until(partial(succeeded, crew, job_id), "picked up without a poll")


@pytest.mark.direct(reason="asks for notices")
@pytest.mark.parametrize("concurrency", [1, 20])
async def test_short_bursts_leave_the_wish_for_notices_as_it_is(crew: Crew, concurrency: int) -> None:
    """Each time it is taken back and said again leaves a row behind, which a held snapshot keeps."""
    wishes = "select xmin::text from windlass_data.waiting"
    async with crew.worker(poll_seconds=NEVER, concurrency=concurrency) as worker:
        await until(lambda: worker.resting, "it waits for a notice")
        said = crew.db.fetch(wishes, role="superuser")
        assert len(said) == 1
        for burst in range(1, 6):
            crew.enqueue_many([{"kind": "fine"}] * 20)
            await until(lambda: worker.counts.succeeded == 20 * burst, "picked up without a poll")  # noqa: B023
            await until(lambda: worker.resting, "it waits for a notice")
        assert crew.db.fetch(wishes, role="superuser") == said


async def test_a_job_committed_between_claim_and_wait_is_not_missed(crew: Crew) -> None:
    """Enqueued without pause from a thread, every job is found although no poll is due for a day."""

    def produce() -> None:
        for _ in range(200):
            crew.enqueue("fine")

    async with crew.worker(poll_seconds=NEVER) as worker:
        await asyncio.to_thread(produce)
        await until(lambda: worker.counts.succeeded == 200, "all are found")


@pytest.mark.direct(reason="asks for notices")
async def test_while_many_jobs_come_nobody_sends_notices(crew: Crew) -> None:
    """Who sends one commits behind whoever else does.  Nothing is missed before, meanwhile or after it."""
    wishes = "select xmin::text from windlass_data.waiting"
    enough = threading.Event()
    produced = 0

    def produce() -> None:
        nonlocal produced
        while not enough.is_set():
            crew.enqueue("fine")
            produced += 1

    async with crew.worker(poll_seconds=NEVER) as worker:
        await until(lambda: worker.resting, "it waits for a notice")
        said = crew.db.fetch(wishes, role="superuser")
        assert len(said) == 1
        producing = asyncio.create_task(asyncio.to_thread(produce))
        try:
            await until(lambda: not crew.db.fetch(wishes, role="superuser"), "it asks for no more notices")
            there = produced
            await until(lambda: worker.counts.succeeded >= there, "it finds what comes")
        finally:
            enough.set()
            await producing
        await until(lambda: worker.counts.succeeded == produced, "it finds the last ones")
        await until(lambda: worker.resting, "it waits for a notice again")
        assert len(crew.db.fetch(wishes, role="superuser")) == 1
        crew.enqueue("fine")
        await until(lambda: worker.counts.succeeded == produced + 1, "told by a notice")


async def test_notices_for_other_nodes_wake_nobody(crew: Crew) -> None:
    async with crew.worker(poll_seconds=NEVER) as worker:
        await until(lambda: worker.resting, "it waits for a notice")
        seen = worker.claims_made
        crew.db.execute("select pg_notify('windlass', %s)", str(uuid4()))
        crew.db.execute("select pg_notify('windlass', %s)", str(worker.node_id))
        await until(lambda: worker.claims_made > seen, "its own notice wakes it")
        assert worker.claims_made == seen + 1


async def test_a_killed_listener_listens_again_and_looks_for_itself(crew: Crew) -> None:
    async with crew.worker(poll_seconds=NEVER) as worker:
        listener = worker.listener
        assert listener is not None
        await listener.listening()
        await until(lambda: worker.resting, "it waits for a notice")
        assert crew.end_sessions("listen") == 1
        crew.enqueue("fine")
        await until(lambda: worker.counts.succeeded == 1, "the notice is lost, the job is not")
        await listener.listening()
        assert listener.sessions >= 2
        await until(lambda: worker.resting, "it waits for a notice")
        crew.enqueue("fine")
        await until(lambda: worker.counts.succeeded == 2, "notices arrive again")


@pytest.mark.direct(reason="listens")
async def test_a_listener_whose_session_is_silent_notices_it(db: Database) -> None:
    """The connection stays open and says nothing more: only asking shows that it is dead."""
    woken: list[str | None] = []
    listener = Listener(db.url(), woken.append, probe_seconds=0.1)
    task = asyncio.create_task(listener.run())
    try:
        await listener.listening()
        session = db.fetch_value(
            "select pid from pg_stat_activity where application_name = 'windlass listen'", role="superuser"
        )
        await until(lambda: woken == [None], "it looks for itself once")
        db.execute("select pg_notify('windlass', 'q')")
        await until(lambda: woken == [None, "q"], "a notice arrives")
        os.kill(session, signal.SIGSTOP)
        try:
            await until(lambda: listener.sessions == 2, "it listens again")
            assert woken == [None, "q", None]
            # The silent session is skipped by the server too: the notice must not wait for it.
            db.execute("select pg_notify('windlass', 'r')")
            await until(lambda: woken[-1] == "r", "on another session")
        finally:
            os.kill(session, signal.SIGCONT)
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_behind_a_transaction_pooler_polling_alone_finds_the_work(crew: Crew) -> None:
    async with crew.worker(pooler="transaction", poll_seconds=0.05) as worker:
        assert worker.listener is None
        await worker.idle()
        crew.enqueue("fine")
        await until(lambda: worker.counts.succeeded == 1, "found by polling")
        waiting = crew.db.fetch_value("select count(*) from windlass_data.waiting", role="superuser")
        assert waiting == 0, "nobody sends notices that nobody hears"


async def test_an_idle_worker_asks_seldom(crew: Crew) -> None:
    async with crew.worker() as worker:
        await worker.idle()
        await until(lambda: worker.listener and worker.listener.alive, "it listens")
        await until(lambda: worker.resting, "the short waits of the beginning are over")
        begin, seen = time.monotonic(), worker.claims_made
        await until(lambda: worker.claims_made >= seen + 4, "it polls")
        assert time.monotonic() - begin > 3 * 0.5 * 0.8, "no sooner than the poll interval"
