"""Jobs written through Django's connection are part of the transaction that Django manages."""

import asyncio
from collections.abc import Iterator
from typing import Any

import django
import django.db
import pytest
from django.conf import settings
from django.db import InternalError, connections, transaction
from django.utils.connection import ConnectionProxy
from psycopg.conninfo import conninfo_to_dict

from tests.integration.shop import LATER, SIGNS, SIGNS_ANSWER, Parcel, Shop
from windlass import IdempotencyConflict, InvalidInput, NotFound
from windlass.db.foreign import run_foreign


@pytest.fixture
def conn(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConnectionProxy]:
    """`django.db.connection`, leading to the test's own database."""
    if not settings.configured:
        settings.configure(USE_TZ=True)
        django.setup()
    parts: dict[str, Any] = conninfo_to_dict(shop.db.url())
    default = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts["dbname"],
        "USER": parts["user"],
        "HOST": parts["host"],
        "PORT": parts["port"],
    }
    configured = connections.configure_settings({"default": default})
    monkeypatch.setattr(connections, "settings", configured)
    yield django.db.connection
    connections["default"].close()
    del connections["default"]


def insert_order(conn: Any, name: str) -> None:
    with conn.cursor() as cursor:
        cursor.execute("insert into orders values (%s)", [name])


def test_commit_keeps_the_job_with_the_order(shop: Shop, conn: Any) -> None:
    with transaction.atomic():
        insert_order(conn, "a")
        handle = shop.ship.options(connection=conn).enqueue_sync(Parcel(to="a"))
        assert (shop.orders, shop.jobs) == ([], []), "nobody sees it before the commit"
    assert (shop.orders, shop.jobs) == (["a"], ["a"])
    assert (handle.created, handle.get().queue) == (True, "parcels")


def test_rollback_takes_the_job_along(shop: Shop, conn: Any) -> None:
    with transaction.atomic():
        insert_order(conn, "a")
        handle = shop.ship.options(connection=conn).enqueue_sync(Parcel(to="a"))
        shop.ship.options(connection=conn).enqueue_many_sync([Parcel(to="b"), Parcel(to="c")])
        transaction.set_rollback(True)
    assert (shop.orders, shop.jobs) == ([], [])
    with pytest.raises(NotFound):
        handle.get()


def test_an_exception_rolls_the_block_back(shop: Shop, conn: Any) -> None:
    shop.ship.options(key="k").enqueue_sync(Parcel(to="a"))
    with pytest.raises(IdempotencyConflict, match="taken by job"), transaction.atomic():
        insert_order(conn, "b")
        shop.ship.options(connection=conn, key="k").enqueue_sync(Parcel(to="b"))
    assert (shop.orders, shop.jobs) == ([], ["a"])


def test_an_error_leaves_the_transaction_as_the_driver_does(shop: Shop, conn: Any) -> None:
    shop.ship.options(key="k").enqueue_sync(Parcel(to="a"))
    with transaction.atomic():
        insert_order(conn, "b")
        with pytest.raises(IdempotencyConflict) as caught:
            shop.ship.options(connection=conn, key="k").enqueue_sync(Parcel(to="b"))
        assert isinstance(caught.value.__cause__, django.db.Error)
        with pytest.raises(InternalError):
            insert_order(conn, "c")
        with pytest.raises(InvalidInput, match="the transaction is aborted already"):
            shop.ship.options(connection=conn).enqueue_sync(Parcel(to="c"))
        transaction.set_rollback(True)
    assert (shop.orders, shop.jobs) == ([], ["a"])


def test_an_inner_block_bounds_an_error(shop: Shop, conn: Any) -> None:
    shop.ship.options(key="k").enqueue_sync(Parcel(to="a"))
    with transaction.atomic():
        insert_order(conn, "b")
        with pytest.raises(IdempotencyConflict), transaction.atomic():
            shop.ship.options(connection=conn, key="k").enqueue_sync(Parcel(to="b"))
        shop.ship.options(connection=connections["default"]).enqueue_sync(Parcel(to="c"))
    assert (shop.orders, shop.jobs) == (["b"], ["a", "c"])


def test_every_value_arrives_as_it_was(shop: Shop, conn: Any) -> None:
    here = shop.app.sync.using(conn)
    with transaction.atomic():
        handles = here.enqueue_jobs(shop.many())
        jobs = [here.get_job(handle.id) for handle in handles]
        page = here.list_jobs(kinds=["odd"], created_to=LATER, limit=2)
    assert [job.payload for job in jobs] == [job.payload for job in shop.many()]
    assert jobs[0].run_at == LATER
    assert (jobs[0].idempotency_key, jobs[1].timeout, jobs[2].correlation_id) == ("100 %:a $2", 1.5, "50 %")
    assert len(page) == 2


def test_from_async_code_the_synchronous_form_is_named(shop: Shop, conn: Any) -> None:
    async def enqueue() -> None:
        await shop.ship.options(connection=conn).enqueue(Parcel(to="a"))

    with pytest.raises(InvalidInput, match="enqueue_sync"):
        asyncio.run(enqueue())


def test_signs_in_the_text_arrive_as_they_are(conn: Any) -> None:
    assert list(map(tuple, run_foreign(conn, SIGNS))) == [SIGNS_ANSWER]
