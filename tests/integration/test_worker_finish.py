"""A handler finishes its job in its own transaction: its writes and the success commit together."""

import asyncio
from typing import Any

import psycopg
import pytest
from pydantic import BaseModel, SecretStr

from tests.integration.crew import Crew, until
from tests.support import Database
from windlass.errors import InvalidInput, LeaseLost
from windlass.model import Cancel, RetryAfter, Skip, Snooze
from windlass.worker.context import JobContext


@pytest.fixture
def crew(db: Database) -> Crew:
    db.execute("create table note (text text)", role="superuser")
    db.execute("grant all on note to windlass_app", role="superuser")
    return Crew(db)


def notes(crew: Crew) -> list[str]:
    return sorted(row.text for row in crew.db.fetch("select text from note"))


async def test_writes_and_success_commit_together(crew: Crew) -> None:
    url = crew.db.url()

    async def on_loop(ctx: JobContext) -> None:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            await connection.execute("insert into note values ('loop')")
            await ctx.cost(5, "stamps")
            await ctx.finish(connection, {"by": "loop"})

    def in_thread(ctx: JobContext) -> None:
        with psycopg.connect(url) as connection:
            connection.execute("insert into note values ('thread')")
            ctx.finish_sync(connection, {"by": "thread"})

    crew.knows(on_loop)
    crew.knows(in_thread)
    crew.knows(in_child, isolation="process")
    ids = [crew.enqueue("on_loop"), crew.enqueue("in_thread"), crew.enqueue("in_child", payload={"url": url})]
    async with crew.worker() as worker:
        await worker.idle()
        assert (worker.counts.succeeded, worker.counts.lost) == (3, 0)
    assert notes(crew) == ["child", "loop", "thread"]
    assert [crew.job(job_id).result for job_id in ids] == [{"by": "loop"}, {"by": "thread"}, {"by": "child"}]
    assert crew.job(ids[0]).cost_cents == 5
    assert crew.leases == 0, "the lease is settled"


def in_child(ctx: JobContext, url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("insert into note values ('child')")
        ctx.finish_sync(connection, {"by": "child"})


class Login(BaseModel):
    user: str
    password: SecretStr


async def test_a_result_that_json_would_not_keep_fails_wherever_it_is_said(crew: Crew) -> None:
    """It fails alike each time, as one that is no JSON does, and nothing of it is stored."""
    url = crew.db.url()

    async def finish_with_secret(ctx: JobContext) -> Login:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            await connection.execute("insert into note values ('lost')")
            await ctx.finish(connection, login_in_child())
        return login_in_child()

    async def login_on_loop() -> Any:
        return {"logins": [login_in_child()]}

    crew.knows(finish_with_secret)
    crew.knows(login_on_loop)
    crew.knows(login_in_child, isolation="process")
    ids = [
        crew.enqueue(kind, max_attempts=1)
        for kind in ("finish_with_secret", "login_on_loop", "login_in_child")
    ]
    async with crew.worker() as worker:
        await worker.idle()
        assert (worker.counts.failed, worker.counts.succeeded) == (3, 0)
    assert notes(crew) == []
    for job_id in ids:
        job = crew.job(job_id)
        assert (job.state, job.result) == ("dead", None)
        assert "the result holds a secret" in job.error["message"]
        assert "hunter2" not in str(job.error)


def login_in_child() -> Login:
    return Login(user="ada", password=SecretStr("hunter2"))


async def test_a_rollback_is_a_failed_attempt(crew: Crew) -> None:
    url = crew.db.url()

    async def forget(ctx: JobContext) -> str:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            await connection.execute("insert into note values ('lost')")
            await ctx.finish(connection, "done")
            await connection.rollback()
        return "as if nothing had happened"

    crew.knows(forget)
    job_id = crew.enqueue("forget", max_attempts=1)
    async with crew.worker() as worker:
        await worker.idle()
        assert (worker.counts.failed, worker.counts.succeeded) == (1, 0)
    assert notes(crew) == []
    job = crew.job(job_id)
    assert (job.state, job.error["type"]) == ("dead", "RolledBack")


DECISIONS = {
    "snooze": (Snooze(3600), "failed", "RolledBack"),
    "skip": (Skip("no use"), "failed", "RolledBack"),
    "retry": (RetryAfter(3600, "busy"), "failed", "RetryAfter"),
    "cancel": (Cancel("no use"), "canceled", "Canceled"),
}


async def change_mind(ctx: JobContext, url: str, how: str) -> Any:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        await ctx.finish(connection, "done")
        await connection.rollback()
    return DECISIONS[how][0]


def change_mind_sync(ctx: JobContext, url: str, how: str) -> Any:
    with psycopg.connect(url) as connection:
        ctx.finish_sync(connection, "done")
        connection.rollback()
    return DECISIONS[how][0]


@pytest.mark.parametrize("how", DECISIONS)
async def test_a_decision_after_a_rollback_says_only_how_the_attempt_failed(crew: Crew, how: str) -> None:
    crew.knows(change_mind)
    crew.knows(change_mind_sync)
    crew.knows(change_mind_sync, kind="in_child", isolation="process")
    payload = {"url": crew.db.url(), "how": how}
    kinds = ("change_mind", "change_mind_sync", "in_child")
    ids = [crew.enqueue(kind, payload=payload, max_attempts=3) for kind in kinds]
    async with crew.worker() as worker:
        await until(lambda: all(crew.attempts(job_id) for job_id in ids), "each was tried")
        await until(lambda: worker.counts.failed + worker.counts.canceled >= 3, "and failed")
    firsts = [crew.attempts(job_id)[0] for job_id in ids]
    assert [(first.outcome, first.error["type"], first.counted) for first in firsts] == [
        (*DECISIONS[how][1:], True)
    ] * 3


async def fall_back(ctx: JobContext, url: str) -> list[str]:
    said = []
    async with await psycopg.AsyncConnection.connect(url) as good:
        with psycopg.connect(url) as blocking:
            for connection, result in [(good, object()), (object(), 1), (blocking, 1)]:
                try:
                    await ctx.finish(connection, result)
                except InvalidInput as error:
                    said.append(error.message)
    return said


def fall_back_sync(ctx: JobContext, url: str) -> list[str]:
    async def connect() -> psycopg.AsyncConnection:
        return await psycopg.AsyncConnection.connect(url)

    said = []
    with psycopg.connect(url) as good, asyncio.Runner() as runner:
        awaited = runner.run(connect())
        for connection, result in [(good, object()), (object(), 1), (awaited, 1)]:
            try:
                ctx.finish_sync(connection, result)
            except InvalidInput as error:
                said.append(error.message)
        runner.run(awaited.close())
    return said


async def test_a_refused_finish_is_none(crew: Crew) -> None:
    crew.knows(fall_back)
    crew.knows(fall_back_sync)
    crew.knows(fall_back_sync, kind="in_child", isolation="process")
    kinds = ("fall_back", "fall_back_sync", "in_child")
    ids = [crew.enqueue(kind, payload={"url": crew.db.url()}, max_attempts=1) for kind in kinds]
    async with crew.worker() as worker:
        await worker.idle()
    jobs = [crew.job(job_id) for job_id in ids]
    assert [(job.state, job.error) for job in jobs] == [("succeeded", None)] * 3
    for job, other in zip(jobs, ("finish_sync", "await finish", "await finish"), strict=True):
        unencodable, unknown, wrong_side = job.result
        assert "result" in unencodable
        assert "not a connection" in unknown
        assert wrong_side.endswith(f"such as {other}")


async def test_what_happens_after_the_commit_changes_nothing(crew: Crew) -> None:
    url = crew.db.url()

    async def stumble(ctx: JobContext, how: str) -> None:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            await connection.execute("insert into note values (%s)", [how])
            await ctx.finish(connection, how)
        if how == "raise":
            raise ValueError("too late")
        await asyncio.sleep(600)

    crew.knows(stumble, timeout=0.5)
    ids = [crew.enqueue("stumble", payload={"how": how}) for how in ("raise", "sleep")]
    async with crew.worker() as worker:
        await worker.idle()
        assert worker.counts.succeeded == 2
    assert notes(crew) == ["raise", "sleep"]
    assert [crew.outcomes(job_id) for job_id in ids] == [["succeeded"]] * 2
    assert crew.leases == 0


async def test_a_commit_counts_whatever_a_thread_raises_behind_it(crew: Crew) -> None:
    url = crew.db.url()

    def stumble(ctx: JobContext) -> None:
        with psycopg.connect(url) as connection:
            ctx.finish_sync(connection, "done")
        raise GeneratorExit

    crew.knows(stumble)
    job_id = crew.enqueue("stumble")
    async with crew.worker() as worker:
        await worker.idle()
        assert (worker.counts.succeeded, worker.counts.lost) == (1, 0)
    assert crew.job(job_id).result == "done"


async def test_a_lost_lease_refuses_the_finish(crew: Crew) -> None:
    url, errors, gate = crew.db.url(), [], asyncio.Event()

    async def slow(ctx: JobContext) -> str:
        if ctx.attempt > 1:
            return "second"
        await gate.wait()
        async with await psycopg.AsyncConnection.connect(url) as connection:
            await connection.execute("insert into note values ('stale')")
            try:
                await ctx.finish(connection)
            except LeaseLost as error:
                errors.append(error)
                raise
        return "never"

    crew.knows(slow)
    job_id = crew.enqueue("slow")
    async with crew.worker(lease_seconds=60) as worker:
        await until(lambda: worker.running, "it runs")
        assert crew.expire_leases() == 1
        gate.set()
        await worker.idle()
        assert (worker.counts.lost, worker.counts.succeeded) == (1, 1)
    assert len(errors) == 1
    assert notes(crew) == [], "the stale attempt's writes rolled back"
    assert crew.outcomes(job_id) == ["crashed", "succeeded"]


async def test_an_open_transaction_holds_up_nobody_else(crew: Crew) -> None:
    """The handler returned, but its transaction is still open: only its own job waits for that."""
    opened: list[psycopg.AsyncConnection] = []
    url = crew.db.url()

    async def leave_open(ctx: JobContext) -> None:
        connection = await psycopg.AsyncConnection.connect(url)
        opened.append(connection)
        await ctx.finish(connection, "late")

    async def fine() -> None: ...

    crew.knows(leave_open)
    crew.knows(fine)
    job_id = crew.enqueue("leave_open")
    async with crew.worker(lease_seconds=1.0) as worker:
        await until(lambda: opened and not worker.running, "the handler has returned")
        crew.enqueue_many([{"kind": "fine", "payload": {}}] * 20)
        await until(lambda: worker.counts.succeeded == 20, "the others are reported")
        seen = worker.renewals
        await until(lambda: worker.renewals > seen + 3, "its lease is renewed meanwhile")
        await opened[0].commit()
        await worker.idle()
    await opened[0].close()
    assert crew.outcomes(job_id) == ["succeeded"]
    assert crew.job(job_id).result == "late"
