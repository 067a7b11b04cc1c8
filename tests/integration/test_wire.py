"""Ids, documents and times that our own connections carry as they are, and what a claim makes of them."""

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta, timezone
from enum import IntEnum, StrEnum
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.integration.crew import TENANT, Crew, until
from tests.support import Database
from windlass.db.call import Call
from windlass.db.connect import Pooler, connect_async
from windlass.db.database import AsyncDatabase, SyncDatabase, run_async
from windlass.db.link import AsyncLink
from windlass.db.rpc import claim_jobs
from windlass.db.wire import Ids, Texts
from windlass.errors import InvalidInput, SchemaMismatch, Unavailable
from windlass.model import ClaimedJob

pytestmark = pytest.mark.every_version  # what is read here is PostgreSQL's own binary form

PAYLOAD = {"n": 1.5, "text": "é\u2028\U0001f600", "deep": [{"a": None}, True, 10**20]}


@pytest.mark.parametrize("pooler", ["none", "transaction"])
@pytest.mark.parametrize("count", [0, 1, 3, 1000])
def test_an_array_of_ids_arrives_as_it_was_sent(db: Database, pooler: Pooler, count: int) -> None:
    ids = [os.urandom(16) for _ in range(count)]
    text = "select count(*), array_agg(i order by n) from unnest($1::uuid[]) with ordinality as t(i, n)"
    call = Call(text, (Ids(ids),), list)
    with SyncDatabase(db.url(), pooler=pooler) as database:
        answers = [database.run(call) for _ in range(8)]  # often enough for the driver to prepare it
    for ((number, back),) in answers:
        assert number == count
        assert [value.bytes for value in back or ()] == ids


@pytest.mark.parametrize("texts", [[], ["é", None, "", '"{},\\\\ NULL', "x" * 100_000], [None], ["NULL"]])
def test_an_array_of_texts_arrives_as_it_was_sent(db: Database, texts: list[str | None]) -> None:
    with SyncDatabase(db.url()) as database:
        ((back,),) = database.run(Call("select $1::text[]", (Texts(texts),), list))
    assert back == texts


async def test_only_a_raw_call_is_read_raw(db: Database) -> None:
    text = "select $1::uuid, '{\"a\": 1}'::jsonb, '2000-01-01 00:00:01+00'::timestamptz"
    some_id = uuid4()
    second = datetime(2000, 1, 1, 0, 0, 1, tzinfo=UTC)
    async with AsyncDatabase(db.url()) as database:
        for raw in (True, False, True):
            (row,) = await database.run(Call(text, (some_id,), list, hot=True, raw=raw))
            if raw:
                assert row == (some_id.bytes, b'\x01{"a": 1}', 1_000_000)
            else:
                assert row == (some_id, {"a": 1}, second)


_MOMENT = datetime(2026, 3, 1, 12, 30, 5, 123456, tzinfo=UTC)


@pytest.mark.parametrize("pooler", ["none", "transaction"])
@pytest.mark.parametrize("hot", [False, True])
@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("text", 'é"\\ \U0001f600'),
        ("text", ""),
        ("text", None),
        ("int", -(2**31)),
        ("bigint", 2**63 - 1),
        ("float8", 0.1),
        ("float8", 1e300),
        ("boolean", True),
        ("boolean", False),
        ("uuid", UUID(int=7)),
        ("timestamptz", _MOMENT),
        ("timestamptz", _MOMENT.astimezone(timezone(timedelta(hours=-9, minutes=-30)))),
        ("text[]", []),
        ("text[]", [None, "NULL", '{",\\', ""]),
        ("bigint[]", [2**63 - 1, None, -5]),
        ("float8[]", [0.5, None, -1e-300]),
    ],
)
def test_a_value_arrives_the_same_whether_the_call_is_hot_or_not(
    db: Database, type_name: str, value: Any, hot: bool, pooler: Pooler
) -> None:
    call = Call(f"select $1::{type_name}", (value,), list, hot=hot)
    with SyncDatabase(db.url(), pooler=pooler) as database:
        assert [database.run(call) for _ in range(3)] == [[(value,)]] * 3


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 7


class Other(UUID):
    """Another library's."""


def test_values_of_somebodys_own_types_are_sent_as_what_they_are(db: Database) -> None:
    values = (Colour.RED, Level.HIGH, Other(int=5), [Colour.RED])
    call = Call("select $1::text, $2::int, $3::uuid, $4::text[]", values, list, hot=True)
    with SyncDatabase(db.url()) as database:
        assert database.run(call) == [("red", 7, UUID(int=5), ["red"])]
        with pytest.raises(InvalidInput, match="object"):
            database.run(Call("select $1::text", (object(),), list, hot=True))


@pytest.mark.parametrize("text", ["a\0b", "a\ud800"])
def test_text_that_cannot_be_stored_is_refused_and_never_cut_short(db: Database, text: str) -> None:
    with SyncDatabase(db.url()) as database:
        with pytest.raises(InvalidInput):
            database.run(Call("select $1::text", (text,), list, hot=True))
        assert database.run(Call("select $1::text", ("b",), list, hot=True)) == [("b",)]


@pytest.mark.direct(reason="nothing is prepared behind a pooler")
def test_a_pool_does_not_keep_a_connection_whose_prepared_statement_no_longer_fits(db: Database) -> None:
    superuser = db.connection("superuser")
    superuser.execute("create function public.f(int) returns int language sql as 'select $1'")
    superuser.execute("grant execute on function public.f(int) to public")
    call = Call("select public.f($1::int)", (5,), list, hot=True)
    with SyncDatabase(db.url(), max_size=1) as database:
        assert database.run(call) == [(5,)]
        superuser.execute("drop function public.f(int)")
        superuser.execute("create function public.f(int) returns bigint language sql as 'select $1::bigint'")
        with pytest.raises(SchemaMismatch):
            database.run(call)
        assert database.run(call) == [(5,)]
        with database.connection() as connection:
            connection.execute("deallocate all")  # as some poolers do between their clients
        with pytest.raises(Unavailable):
            database.run(call)
        assert database.run(call) == [(5,)]


@pytest.mark.parametrize("how", ["pg_terminate_backend", "pg_cancel_backend"])
async def test_a_hot_call_whose_session_ends_is_told_so_and_the_next_one_works(
    db: Database, how: str
) -> None:
    link = AsyncLink(db.url())
    slow = asyncio.create_task(link.run(Call("select pg_sleep($1::int)::text", (60,), list, hot=True)))
    try:
        asleep = "select pid from pg_stat_activity where wait_event = 'PgSleep'"
        await until(lambda: db.fetch(asleep, role="superuser"), "the server is busy with it")
        db.execute(f"select {how}(({asleep}))", role="superuser")
        with pytest.raises(Unavailable):
            await slow
        assert await link.run(Call("select $1::int", (1,), list, hot=True)) == [(1,)]
    finally:
        await link.close()


async def test_who_is_canceled_while_a_call_is_prepared_has_done_nothing(db: Database) -> None:
    """The driver goes on with what it has begun to send; that must not be the call itself."""
    db.execute("create table public.written (n int)", role="superuser")
    db.execute("grant all on public.written to public", role="superuser")
    connection = await connect_async(db.url())
    call = Call("insert into public.written values ($1::int) returning n", (1,), list, hot=True)
    async with connection:
        running = asyncio.create_task(run_async(connection, call))
        await asyncio.sleep(0)  # it has begun to prepare, and waits for the answer
        assert not running.done()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert db.fetch_value("select count(*) from public.written", role="superuser") == 0


async def test_a_hot_call_that_is_canceled_leaves_a_connection_that_works(db: Database) -> None:
    link = AsyncLink(db.url())
    slow = asyncio.create_task(link.run(Call("select pg_sleep($1::int)::text", (60,), list, hot=True)))
    try:
        asleep = "select exists (select from pg_stat_activity where wait_event = 'PgSleep')"
        await until(lambda: db.fetch_value(asleep, role="superuser"), "the server is busy with it")
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert await link.run(Call("select $1::int", (1,), list, hot=True)) == [(1,)]
    finally:
        await link.close()


async def test_a_claim_tells_what_was_enqueued(db: Database) -> None:
    crew = Crew(db)
    job_id = crew.enqueue("mail", payload=PAYLOAD, correlation_id="c-1", timeout_ms=2500)
    link = AsyncLink(db.url())
    try:
        (job,) = await link.run(claim_jobs(uuid4(), ["default"], None, 5, 30.0))
    finally:
        await link.close()
    stored = crew.job(job_id)
    assert (job.id, job.tenant_id, job.kind, job.queue) == (job_id, TENANT, "mail", "default")
    assert (job.payload, json.loads(job.payload_json)) == (PAYLOAD, PAYLOAD)
    assert (job.created_at, job.correlation_id, job.timeout) == (stored.created_at, "c-1", 2.5)
    assert timedelta(seconds=29) < job.expires_at - job.created_at < timedelta(minutes=10)
    assert job.token == crew.db.fetch_value("select id from windlass_data.lease", role="superuser")


def test_a_driver_that_reads_a_claim_in_its_own_way_is_understood(db: Database) -> None:
    crew = Crew(db)
    job_id = crew.enqueue("mail", payload=PAYLOAD)
    call = claim_jobs(uuid4(), ["default"], None, 5, 30.0)
    with SyncDatabase(db.url()) as database:
        rows = database.run(Call(call.text, call.values, list))
    assert isinstance(rows[0][0], UUID)
    (job,) = call.read(rows)
    assert isinstance(job, ClaimedJob)
    assert (job.id, job.payload, job.created_at) == (job_id, PAYLOAD, crew.job(job_id).created_at)
