"""Jobs written through the caller's own asyncpg connection are part of the caller's transaction."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.integration.shop import LATER, SIGNS, SIGNS_ANSWER, Parcel, Shop
from windlass import IdempotencyConflict, InvalidInput, NotFound
from windlass.db.foreign import run_foreign_async


def address(shop: Shop) -> dict[str, Any]:
    parts = conninfo_to_dict(shop.db.url())
    return {
        "host": parts["host"],
        "port": int(str(parts["port"])),
        "user": parts["user"],
        "database": parts["dbname"],
    }


@pytest.fixture
async def conn(shop: Shop) -> AsyncIterator[Any]:
    conn = await asyncpg.connect(**address(shop))
    yield conn
    await conn.close()
    await shop.app.close()


async def test_commit_keeps_the_job_with_the_order(shop: Shop, conn: Any) -> None:
    async with conn.transaction():
        await conn.execute("insert into orders values ('a')")
        handle = await shop.ship.options(connection=conn).enqueue(Parcel(to="a"))
        assert (shop.orders, shop.jobs) == ([], []), "nobody sees it before the commit"
    assert (shop.orders, shop.jobs) == (["a"], ["a"])
    assert (handle.created, (await handle.get()).queue) == (True, "parcels")


async def test_rollback_takes_the_job_along(shop: Shop, conn: Any) -> None:
    transaction = conn.transaction()
    await transaction.start()
    await conn.execute("insert into orders values ('a')")
    handle = await shop.ship.options(connection=conn).enqueue(Parcel(to="a"))
    await shop.ship.options(connection=conn).enqueue_many([Parcel(to="b"), Parcel(to="c")])
    await transaction.rollback()
    assert (shop.orders, shop.jobs) == ([], [])
    with pytest.raises(NotFound):
        await handle.get()


async def test_an_error_leaves_the_transaction_as_the_driver_does(shop: Shop, conn: Any) -> None:
    await shop.ship.options(key="k").enqueue(Parcel(to="a"))
    transaction = conn.transaction()
    await transaction.start()
    await conn.execute("insert into orders values ('b')")
    with pytest.raises(IdempotencyConflict, match="taken by job") as caught:
        await shop.ship.options(connection=conn, key="k").enqueue(Parcel(to="b"))
    assert isinstance(caught.value.__cause__, asyncpg.PostgresError)
    with pytest.raises(asyncpg.InFailedSQLTransactionError):
        await conn.fetch("select 1")
    with pytest.raises(InvalidInput, match="the transaction is aborted already"):
        await shop.ship.options(connection=conn).enqueue(Parcel(to="c"))
    await transaction.rollback()
    assert await conn.fetchval("select 1") == 1
    assert (shop.orders, shop.jobs) == ([], ["a"])


async def test_every_value_arrives_as_it_was(shop: Shop, conn: Any) -> None:
    await conn.set_type_codec("jsonb", encoder=repr, decoder=repr, schema="pg_catalog")
    here = shop.app.client.using(conn)
    async with conn.transaction():
        handles = await here.enqueue_jobs(shop.many())
        jobs = [await here.get_job(handle.id) for handle in handles]
        page = await here.list_jobs(kinds=["odd"], created_to=LATER, limit=2)
        canceled = await here.cancel_job(handles[0].id, reason="50 %")
    assert [job.payload for job in jobs] == [job.payload for job in shop.many()]
    assert jobs[0].run_at == LATER
    assert (jobs[0].idempotency_key, jobs[1].timeout, jobs[2].correlation_id) == ("100 %:a $2", 1.5, "50 %")
    assert (len(page), canceled) == (2, "canceled")
    assert type(jobs[0].id) is type(handles[0].id)


async def test_a_connection_of_a_pool_is_one_too(shop: Shop) -> None:
    async with asyncpg.create_pool(**address(shop), min_size=1, max_size=2) as pool:
        async with pool.acquire() as conn, conn.transaction():
            await shop.ship.options(connection=conn).enqueue(Parcel(to="a"))
        with pytest.raises(InvalidInput, match="not an engine, pool"):
            await shop.ship.options(connection=pool).enqueue(Parcel(to="b"))
    assert shop.jobs == ["a"]


async def test_the_wrong_colour_is_refused_with_what_to_do(shop: Shop, conn: Any) -> None:
    with pytest.raises(InvalidInput, match="await enqueue"):
        shop.ship.options(connection=conn).enqueue_sync(Parcel(to="a"))


async def test_signs_in_the_text_arrive_as_they_are(conn: Any) -> None:
    assert list(map(tuple, await run_foreign_async(conn, SIGNS))) == [SIGNS_ANSWER]
