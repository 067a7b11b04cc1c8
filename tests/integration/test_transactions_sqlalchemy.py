"""Jobs written through the caller's own SQLAlchemy connection or session are part of its transaction."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import InternalError, PendingRollbackError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from tests.integration.shop import LATER, SIGNS, SIGNS_ANSWER, Parcel, Shop
from windlass import IdempotencyConflict, InvalidInput, NotFound
from windlass.db.foreign import run_foreign, run_foreign_async

ORDER = text("insert into orders values (:name)")


@pytest.fixture
def engine(shop: Shop) -> Iterator[Engine]:
    engine = create_engine(shop.db.url().replace("postgresql:", "postgresql+psycopg:"))
    yield engine
    engine.dispose()


@pytest.fixture(params=["psycopg", "asyncpg"])
async def async_engine(shop: Shop, request: pytest.FixtureRequest) -> AsyncIterator[AsyncEngine]:
    parts: dict[str, Any] = conninfo_to_dict(shop.db.url())
    if request.param == "asyncpg":
        parts |= {"database": parts.pop("dbname"), "port": int(parts["port"])}
    engine = create_async_engine(f"postgresql+{request.param}://", connect_args=parts)
    yield engine
    await engine.dispose()
    await shop.app.close()


@pytest.fixture(params=["connection", "session", "scoped session"])
def conn(engine: Engine, request: pytest.FixtureRequest) -> Iterator[Any]:
    """All three are used alike."""
    if request.param == "connection":
        with engine.connect() as conn:
            yield conn
    elif request.param == "session":
        with Session(engine) as session:
            yield session
    else:
        scoped = scoped_session(sessionmaker(engine))
        yield scoped
        scoped.remove()


def test_commit_keeps_the_job_with_the_order(shop: Shop, conn: Any) -> None:
    conn.execute(ORDER, {"name": "a"})
    handle = shop.ship.options(connection=conn).enqueue_sync(Parcel(to="a"))
    assert (shop.orders, shop.jobs) == ([], []), "nobody sees it before the commit"
    conn.commit()
    assert (shop.orders, shop.jobs) == (["a"], ["a"])
    assert (handle.created, handle.get().queue) == (True, "parcels")


def test_a_delay_counts_whatever_way_the_session_writes_times(shop: Shop, conn: Any) -> None:
    conn.execute(text("set datestyle = 'German'"))
    handle = shop.ship.options(connection=conn, delay=3600).enqueue_sync(Parcel(to="a"))
    conn.commit()
    job = handle.get()
    assert job.run_at is not None
    assert 3599 < (job.run_at - job.created_at).total_seconds() <= 3600


def test_rollback_takes_the_job_along(shop: Shop, conn: Any) -> None:
    conn.execute(ORDER, {"name": "a"})
    handle = shop.ship.options(connection=conn).enqueue_sync(Parcel(to="a"))
    shop.ship.options(connection=conn).enqueue_many_sync([Parcel(to="b"), Parcel(to="c")])
    conn.rollback()
    assert (shop.orders, shop.jobs) == ([], [])
    with pytest.raises(NotFound):
        handle.get()


def test_an_error_leaves_the_transaction_as_the_driver_does(shop: Shop, conn: Any) -> None:
    shop.ship.options(key="k").enqueue_sync(Parcel(to="a"))
    conn.execute(ORDER, {"name": "b"})
    with pytest.raises(IdempotencyConflict, match="taken by job"):
        shop.ship.options(connection=conn, key="k").enqueue_sync(Parcel(to="b"))
    with pytest.raises((InternalError, PendingRollbackError)):
        conn.execute(text("select 1"))
    # A session refuses it by itself; a connection sends it.
    with pytest.raises((InvalidInput, PendingRollbackError), match=r"aborted already|rolled back"):
        shop.ship.options(connection=conn).enqueue_sync(Parcel(to="c"))
    conn.rollback()
    assert conn.execute(text("select 1")).scalar() == 1
    assert (shop.orders, shop.jobs) == ([], ["a"])


def test_a_savepoint_bounds_an_error(shop: Shop, conn: Any) -> None:
    shop.ship.options(key="k").enqueue_sync(Parcel(to="a"))
    conn.execute(ORDER, {"name": "b"})
    with pytest.raises(IdempotencyConflict), conn.begin_nested():
        shop.ship.options(connection=conn, key="k").enqueue_sync(Parcel(to="b"))
    shop.ship.options(connection=conn).enqueue_sync(Parcel(to="c"))
    conn.commit()
    assert (shop.orders, shop.jobs) == (["b"], ["a", "c"])


def test_every_value_arrives_as_it_was(shop: Shop, conn: Any) -> None:
    here = shop.app.sync.using(conn)
    handles = here.enqueue_jobs(shop.many())
    jobs = [here.get_job(handle.id) for handle in handles]
    page = here.list_jobs(kinds=["odd"], created_to=LATER, limit=2)
    conn.commit()
    assert [job.payload for job in jobs] == [job.payload for job in shop.many()]
    assert jobs[0].run_at == LATER
    assert (jobs[0].idempotency_key, jobs[1].timeout, jobs[2].correlation_id) == ("100 %:a $2", 1.5, "50 %")
    assert len(page) == 2


@pytest.fixture(params=["connection", "session"])
async def async_conn(async_engine: AsyncEngine, request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    if request.param == "connection":
        async with async_engine.connect() as conn:
            yield conn
    else:
        async with AsyncSession(async_engine) as session:
            yield session


async def test_async_commit_and_rollback(shop: Shop, async_conn: AsyncConnection | AsyncSession) -> None:
    await async_conn.execute(ORDER, {"name": "a"})
    handle = await shop.ship.options(connection=async_conn).enqueue(Parcel(to="a"))
    assert (shop.orders, shop.jobs) == ([], [])
    await async_conn.commit()
    await async_conn.execute(ORDER, {"name": "b"})
    await shop.ship.options(connection=async_conn).enqueue(Parcel(to="b"))
    await async_conn.rollback()
    assert (shop.orders, shop.jobs) == (["a"], ["a"])
    assert (await handle.get()).payload == {"to": "a", "grams": 100}


async def test_async_error(shop: Shop, async_conn: AsyncConnection | AsyncSession) -> None:
    await shop.ship.options(key="k").enqueue(Parcel(to="a"))
    await async_conn.execute(ORDER, {"name": "b"})
    with pytest.raises(IdempotencyConflict, match=r"^the idempotency key 'k' is taken by job"):
        await shop.ship.options(connection=async_conn, key="k").enqueue(Parcel(to="b"))
    await async_conn.rollback()
    assert (await async_conn.execute(text("select 1"))).scalar() == 1
    assert (shop.orders, shop.jobs) == ([], ["a"])


async def test_async_values(shop: Shop, async_conn: AsyncConnection | AsyncSession) -> None:
    here = shop.app.client.using(async_conn)
    handles = await here.enqueue_jobs(shop.many())
    jobs = [await here.get_job(handle.id) for handle in handles]
    page = await here.list_jobs(kinds=["odd"], created_to=LATER, limit=2)
    single = await here.enqueue(shop.many()[1])
    await async_conn.commit()
    assert [job.payload for job in jobs] == [job.payload for job in shop.many()]
    assert jobs[0].run_at == LATER
    assert (jobs[0].idempotency_key, jobs[1].timeout, jobs[2].correlation_id) == ("100 %:a $2", 1.5, "50 %")
    assert len(page) == 2
    assert (await single.get()).shown_state == "scheduled"


async def test_the_wrong_colour_is_refused_with_what_to_do(
    shop: Shop, engine: Engine, async_conn: AsyncConnection | AsyncSession
) -> None:
    with engine.connect() as conn, pytest.raises(InvalidInput, match="enqueue_sync"):
        await shop.ship.options(connection=conn).enqueue(Parcel(to="a"))
    with pytest.raises(InvalidInput, match="await enqueue"):
        shop.ship.options(connection=async_conn).enqueue_sync(Parcel(to="a"))


def test_an_engine_and_another_database_are_refused(shop: Shop, engine: Engine) -> None:
    with pytest.raises(InvalidInput, match="not an engine"):
        shop.ship.options(connection=engine).enqueue_sync(Parcel(to="a"))
    sqlite = create_engine("sqlite://")
    with sqlite.connect() as other, pytest.raises(InvalidInput, match="leads to sqlite"):
        shop.ship.options(connection=other).enqueue_sync(Parcel(to="a"))
    sqlite.dispose()


def test_signs_in_the_text_arrive_as_they_are(conn: Any) -> None:
    assert list(map(tuple, run_foreign(conn, SIGNS))) == [SIGNS_ANSWER]


async def test_signs_arrive_on_a_loop_too(async_conn: AsyncConnection | AsyncSession) -> None:
    assert list(map(tuple, await run_foreign_async(async_conn, SIGNS))) == [SIGNS_ANSWER]
