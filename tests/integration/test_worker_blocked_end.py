"""What is said in place of a blocked loop although that is hard: late, held by somebody, unwritable."""

import asyncio
from typing import Any

import pytest

from tests.integration.crew import PATIENCE, Crew, until
from tests.integration.test_worker_blocked import NO_DELAY, block_until
from tests.support import Database
from windlass.db.link import SyncLink
from windlass.worker import apart


@pytest.fixture
def crew(db: Database) -> Crew:
    return Crew(db)


def hold(connection: Any, job_id: Any) -> None:
    connection.execute("select from windlass_data.job where id = %s for update", (job_id,))


def nodes_active(crew: Crew) -> int:
    text = "select count(*) from windlass_data.node where stopped_at is null"
    return int(crew.db.fetch_value(text, role="superuser"))


@pytest.mark.parametrize("reason", ["timed_out", "canceled"])
async def test_a_canceled_attempt_whose_clean_up_blocks_the_loop_is_spoken_of(
    crew: Crew, reason: str
) -> None:
    seen: list[str] = []

    async def cleans() -> None:
        seen.append("begun")
        try:
            await asyncio.sleep(600)
        finally:
            block_until(lambda: crew.outcomes(job_id) == [reason], "the job is spoken of over its head")
            await asyncio.sleep(0.05)
            seen.append("clean")

    crew.knows(cleans, timeout=0.3 if reason == "timed_out" else 600)
    job_id = crew.enqueue("cleans", retry={**NO_DELAY, "base": 3600})
    async with crew.worker() as worker:
        await until(lambda: seen, "the handler runs")
        if reason == "canceled":
            crew.cancel(job_id)
        await until(lambda: seen == ["begun", "clean"], "the clean-up comes to its end, canceled once only")
        await worker.idle()
        assert (worker.stuck, worker.running, worker.counts.lost) == (0, [], 0)
    assert crew.outcomes(job_id) == [reason]


async def test_a_node_says_farewell_although_the_handler_that_blocks_it_holds_its_own_job(
    crew: Crew,
) -> None:
    seen: dict[str, Any] = {}

    async def waits() -> None:
        await asyncio.sleep(600)

    async def block() -> None:
        with crew.db.connect("superuser", autocommit=False) as connection:
            hold(connection, jobs["block"])
            seen["left"] = worker.upkeep.leave(PATIENCE)
            seen["active"] = nodes_active(crew)
            seen["outcomes"] = {kind: crew.outcomes(job_id) for kind, job_id in jobs.items()}

    crew.knows(waits)
    crew.knows(block)
    jobs = {"waits": crew.enqueue("waits")}
    async with crew.worker(grace_seconds=0) as worker:
        await until(lambda: [job.kind for job in worker.running] == ["waits"], "one runs")
        jobs["block"] = crew.enqueue("block")
        await until(lambda: "outcomes" in seen, "the worker was left")
    assert seen == {"left": True, "active": 0, "outcomes": {"waits": ["released"], "block": []}}
    assert crew.outcomes(jobs["block"]) == ["released"], "the loop, which is awake again, has said it"
    assert crew.held == 0


@pytest.mark.parametrize("leaves", [False, True], ids=["while it is blocked", "at the end"])
async def test_words_that_were_held_apart_are_said_when_nobody_holds_them(
    crew: Crew, monkeypatch: pytest.MonkeyPatch, leaves: bool
) -> None:
    monkeypatch.setattr(apart, "_HELD_AGAIN_SECONDS", 600.0)
    seen: list[Any] = []

    async def fails() -> None:
        raise ValueError("in vain")

    async def block() -> None:
        connection.rollback()
        if leaves:
            assert worker.upkeep.leave(PATIENCE)
        else:
            block_until(lambda: crew.outcomes(failed), "the word that was apart is said")
        seen.append(crew.outcomes(failed))

    crew.knows(fails)
    crew.knows(block)
    failed = crew.enqueue("fails", retry={**NO_DELAY, "base": 3600})
    with crew.db.connect("superuser", autocommit=False) as connection:
        hold(connection, failed)
        async with crew.worker(grace_seconds=0) as worker:
            await until(lambda: worker._flow.reporter.apart.contended, "the word was tried apart, in vain")
            crew.enqueue("block")
            await until(lambda: seen, "the loop was blocked")
            await asyncio.wait_for(worker._flow.reporter.silent(), PATIENCE)
    assert seen == [["failed"]]
    assert crew.outcomes(failed) == ["failed"]


async def test_a_word_that_cannot_be_written_holds_up_no_other_and_is_left_to_the_loop(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, refused = SyncLink.run, 0

    def run_unless_odd(link: SyncLink, call: Any) -> Any:
        nonlocal refused
        if "release_jobs" in call.text and odd.bytes in call.values[1].values:
            refused += 1
            raise TypeError("no such value can be written")
        return run(link, call)

    async def block() -> None:
        ids = [other for other in others if other != odd]
        block_until(lambda: {crew.state(job_id) for job_id in ids} == {"queued"}, "the others are given back")
        block_until(lambda: refused == 2, "it was tried with the others, and alone")
        assert crew.state(odd) == "running"

    async def quick() -> None: ...

    monkeypatch.setattr(SyncLink, "run", run_unless_odd)
    crew.knows(block)
    crew.knows(quick)
    _, *others = crew.enqueue_many([{"kind": kind, "payload": {}} for kind in ("block", *["quick"] * 3)])
    odd = others[1]
    async with crew.worker() as worker:
        await worker.idle()
        assert (worker.counts.released, worker.counts.succeeded, worker.counts.lost) == (3, 4, 0)
    assert [crew.outcomes(other) for other in others] == [["released", "succeeded"]] * 3
    assert refused == 2
