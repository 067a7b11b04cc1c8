"""Jobs written through the caller's own psycopg connection are part of the caller's transaction."""

import psycopg
import pytest
from psycopg import AsyncConnection, Connection
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row

from tests.integration.shop import LATER, SIGNS, SIGNS_ANSWER, Parcel, Shop
from windlass import IdempotencyConflict, InvalidInput, NotFound, Unavailable
from windlass.db.foreign import run_foreign


@pytest.fixture
def url(shop: Shop) -> str:
    return shop.db.url()


def test_commit_keeps_the_job_with_the_order(shop: Shop, url: str) -> None:
    with psycopg.connect(url) as conn:
        conn.execute("insert into orders values ('a')")
        handle = shop.ship.options(connection=conn).enqueue_sync(Parcel(to="a"))
        assert (shop.orders, shop.jobs) == ([], []), "nobody sees it before the commit"
    assert (shop.orders, shop.jobs) == (["a"], ["a"])
    assert handle.created
    assert handle.get().queue == "parcels"


def test_rollback_takes_the_job_along(shop: Shop, url: str) -> None:
    with psycopg.connect(url) as conn:
        conn.execute("insert into orders values ('a')")
        handle = shop.ship.options(connection=conn).enqueue_sync(Parcel(to="a"))
        shop.ship.options(connection=conn).enqueue_many_sync([Parcel(to="b"), Parcel(to="c")])
        conn.rollback()
    assert (shop.orders, shop.jobs) == ([], [])
    with pytest.raises(NotFound):
        handle.get()


def test_an_error_leaves_the_transaction_as_the_driver_does(shop: Shop, url: str) -> None:
    shop.ship.options(key="k").enqueue_sync(Parcel(to="a"))
    with psycopg.connect(url) as conn:
        conn.execute("insert into orders values ('b')")
        with pytest.raises(IdempotencyConflict):
            shop.ship.options(connection=conn, key="k").enqueue_sync(Parcel(to="b"))
        assert conn.info.transaction_status is TransactionStatus.INERROR
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            conn.execute("select 1")
        with pytest.raises(InvalidInput, match="the transaction is aborted already: roll it back"):
            shop.ship.options(connection=conn).enqueue_sync(Parcel(to="c"))
        conn.rollback()
        conn.execute("select 1")
    assert (shop.orders, shop.jobs) == ([], ["a"])


def test_a_savepoint_bounds_an_error(shop: Shop, url: str) -> None:
    shop.ship.options(key="k").enqueue_sync(Parcel(to="a"))
    with psycopg.connect(url) as conn:
        conn.execute("insert into orders values ('b')")
        with pytest.raises(IdempotencyConflict), conn.transaction():
            shop.ship.options(connection=conn, key="k").enqueue_sync(Parcel(to="b"))
        shop.ship.options(connection=conn).enqueue_sync(Parcel(to="c"))
    assert (shop.orders, shop.jobs) == (["b"], ["a", "c"])


def test_a_payload_that_does_not_fit_never_reaches_the_connection(shop: Shop, url: str) -> None:
    with psycopg.connect(url) as conn:
        conn.execute("insert into orders values ('a')")
        with pytest.raises(InvalidInput, match="grams"):
            shop.ship.options(connection=conn).enqueue_many_sync([{"to": "a", "grams": -1}])
    assert shop.orders == ["a"]


@pytest.mark.parametrize("autocommit", [True, False])
def test_the_connection_keeps_its_own_ways(shop: Shop, url: str, autocommit: bool) -> None:
    """Other row factories, autocommit and a read of our own: nothing of the connection is changed."""
    with Connection.connect(url, row_factory=dict_row, autocommit=autocommit) as conn:
        here = shop.app.sync.using(conn)
        handles = here.enqueue_jobs(shop.many())
        jobs = [here.get_job(handle.id) for handle in handles]
        assert conn.execute("select 1 as one").fetchone() == {"one": 1}
        page = here.list_jobs(kinds=["odd"], created_to=LATER, limit=2)
        assert conn.autocommit is autocommit
    assert [job.payload for job in jobs] == [job.payload for job in shop.many()]
    assert len(page) == 2
    assert page.next_cursor is not None
    assert jobs[0].run_at == LATER
    assert (jobs[0].idempotency_key, jobs[1].timeout, jobs[2].correlation_id) == ("100 %:a $2", 1.5, "50 %")


async def test_async_commit_and_rollback(shop: Shop, url: str) -> None:
    async with await AsyncConnection.connect(url) as conn:
        await conn.execute("insert into orders values ('a')")
        handle = await shop.ship.options(connection=conn).enqueue(Parcel(to="a"))
        await conn.commit()
        await conn.execute("insert into orders values ('b')")
        await shop.ship.options(connection=conn).enqueue(Parcel(to="b"))
        await shop.app.client.using(conn).enqueue_jobs(shop.many())
        await conn.rollback()
    assert (shop.orders, shop.jobs) == (["a"], ["a"])
    assert (await handle.get()).payload == {"to": "a", "grams": 100}
    await shop.app.close()


async def test_async_error(shop: Shop, url: str) -> None:
    shop.ship.options(key="k").enqueue_sync(Parcel(to="a"))
    async with await AsyncConnection.connect(url) as conn:
        await conn.execute("insert into orders values ('b')")
        with pytest.raises(IdempotencyConflict):
            await shop.ship.options(connection=conn, key="k").enqueue(Parcel(to="b"))
        assert conn.info.transaction_status is TransactionStatus.INERROR
        await conn.rollback()
    assert (shop.orders, shop.jobs) == ([], ["a"])


async def test_the_wrong_colour_is_refused_with_what_to_do(shop: Shop, url: str) -> None:
    with psycopg.connect(url) as conn, pytest.raises(InvalidInput, match="enqueue_sync"):
        await shop.ship.options(connection=conn).enqueue(Parcel(to="a"))
    async with await AsyncConnection.connect(url) as async_conn:
        with pytest.raises(InvalidInput, match="await enqueue"):
            shop.ship.options(connection=async_conn).enqueue_sync(Parcel(to="a"))
    assert shop.jobs == []


@pytest.mark.parametrize("thing", ["a cursor", "nothing of the kind", "a URL"])
def test_what_is_no_connection_is_refused(shop: Shop, url: str, thing: str) -> None:
    with psycopg.connect(url) as conn:
        given = {"a cursor": conn.cursor(), "a URL": url}.get(thing, object())
        with pytest.raises(InvalidInput, match="pass an open connection"):
            shop.ship.options(connection=given).enqueue_sync(Parcel(to="a"))


def test_a_connection_of_psycopg2_is_told_its_way(shop: Shop) -> None:
    connection = type("connection", (), {"__module__": "psycopg2.extensions"})()
    with pytest.raises(InvalidInput, match=r"of psycopg 3, .*; psycopg2 works through SQLAlchemy$"):
        shop.ship.options(connection=connection).enqueue_sync(Parcel(to="a"))


def test_a_closed_connection_is_unavailable(shop: Shop, url: str) -> None:
    with psycopg.connect(url) as conn:
        pass
    with pytest.raises(Unavailable, match="closed"):
        shop.ship.options(connection=conn).enqueue_sync(Parcel(to="a"))


@pytest.mark.direct(reason="ends a session by its process number")
def test_a_lost_connection_is_not_tried_again(shop: Shop, url: str) -> None:
    with psycopg.connect(url) as conn:
        shop.db.execute("select pg_terminate_backend(%s)", conn.info.backend_pid, role="superuser")
        with pytest.raises(Unavailable):
            shop.ship.options(connection=conn).enqueue_sync(Parcel(to="a"))
    assert shop.jobs == []


def test_signs_in_the_text_arrive_as_they_are(url: str) -> None:
    with psycopg.connect(url) as conn:
        assert run_foreign(conn, SIGNS) == [SIGNS_ANSWER]


def test_what_the_connection_cannot_carry_is_refused_for_that(shop: Shop, url: str) -> None:
    with psycopg.connect(url, client_encoding="latin1") as conn:
        shop.ship.options(connection=conn, key="clé").enqueue_sync(Parcel(to="a"))
        with pytest.raises(InvalidInput, match=r"client_encoding .* cannot carry .*U\+043A") as caught:
            shop.ship.options(connection=conn, key="ключ").enqueue_sync(Parcel(to="a"))
    assert caught.value.details["hint"] == "set client_encoding to 'UTF8';"
    assert shop.jobs == ["a"]
