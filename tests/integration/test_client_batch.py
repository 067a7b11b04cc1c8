"""Large enqueues: whichever way they travel, all or none, in order, and said again as one."""

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import windlass.client.batch
from tests.integration.proxy import Proxy
from tests.integration.shop import LATER, Parcel, Shop
from windlass import IdempotencyConflict, InvalidInput, NewJob, NotFound
from windlass.client import SyncClient
from windlass.client.batch import Parts, Split
from windlass.db.call import Call
from windlass.model import uuid7
from windlass.settings import Settings


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windlass.client.batch, "PART_JOBS", 10)


def payloads(shop: Shop) -> list[Any]:
    """Of all jobs, in the order in which workers get them."""
    query = "select j.payload from windlass_data.job as j join windlass_data.ready as r on r.job_id = j.id"
    return [row.payload for row in shop.db.fetch(f"{query} order by r.seq", role="superuser")]


def test_one_kind_by_name(shop: Shop) -> None:
    handles = shop.app.sync.enqueue_many(
        "other.kind", [{"n": 1}, None, "x"], queue="q", priority=4, max_attempts=2, retry="default", timeout=9
    )
    jobs = [handle.get() for handle in handles]
    assert [job.payload for job in jobs] == [{"n": 1}, None, "x"]
    assert {(job.kind, job.queue, job.priority, job.max_attempts, job.timeout) for job in jobs} == {
        ("other.kind", "q", 4, 2, 9.0)
    }
    assert all(handle.created for handle in handles)
    assert shop.app.sync.enqueue_many("other.kind", []) == []
    assert shop.app.sync.enqueue_many("other.kind", [1], run_at=LATER)[0].get().shown_state == "scheduled"
    with pytest.raises(NotFound):
        shop.app.sync.enqueue_many("other.kind", [1], tenant=uuid7())


@pytest.mark.usefixtures("small_parts")
async def test_order_is_kept_across_parts(shop: Shop) -> None:
    await shop.app.client.enqueue_many("a", range(35))
    await asyncio.to_thread(shop.app.sync.enqueue_many, "a", range(35, 60))
    assert payloads(shop) == list(range(60))
    mixed = [NewJob(kind=f"k{n % 3}", payload=n) for n in range(60, 95)]
    handles = await shop.app.client.enqueue_jobs(mixed)
    assert payloads(shop) == list(range(95))
    assert [(await handle.get()).kind for handle in handles[:4]] == ["k0", "k1", "k2", "k0"]
    await shop.app.close()


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize("bad", [0, 17, 34])
async def test_a_refused_part_takes_all_along(shop: Shop, face: str, bad: int) -> None:
    """By the database: the client does not measure here."""
    shop.measures_nothing()
    many: list[Any] = list(range(35))
    many[bad] = "x" * 1_048_575
    enqueue: Any = shop.app.client.enqueue_many if face == "async" else None
    with pytest.raises(InvalidInput, match="of the batch: payload has at least 1048577 bytes"):
        if enqueue is None:
            await asyncio.to_thread(shop.app.sync.enqueue_many, "a", many)
        else:
            await enqueue("a", many)
    assert len(shop.app.sync.list_jobs()) == 0
    handles = await shop.app.client.enqueue_many("a", range(35))
    assert len(handles) == len(payloads(shop)) == 35, "the connection is as good as before"
    await shop.app.close()


@pytest.mark.usefixtures("small_parts")
def test_a_payload_that_does_not_fit_takes_all_along(shop: Shop) -> None:
    many = [{"to": "x", "grams": 1 if n != 33 else 0} for n in range(35)]
    with pytest.raises(InvalidInput, match="grams"):
        shop.ship.enqueue_many_sync(many)
    with pytest.raises(InvalidInput, match="payload contains a NUL"):
        shop.app.sync.enqueue_many("a", ["fine"] * 30 + ["not\x00fine"])
    assert len(shop.app.sync.list_jobs()) == 0
    assert len(shop.ship.enqueue_many_sync([Parcel(to="x")] * 35)) == 35


@pytest.mark.usefixtures("small_parts")
async def test_jobs_with_keys_in_parts_are_all_or_none(shop: Shop) -> None:
    shop.app.sync.enqueue_job("a", "taken", key="k")
    good = [NewJob(kind="a", payload=n, key=f"k{n}") for n in range(35)]
    bad = NewJob(kind="a", payload="other", key="k")
    with pytest.raises(IdempotencyConflict):
        await shop.app.client.enqueue_jobs([*good, bad])
    with pytest.raises(IdempotencyConflict):
        await asyncio.to_thread(shop.app.sync.enqueue_jobs, [*good, bad])
    assert len(shop.app.sync.list_jobs()) == 1
    handles = await shop.app.client.enqueue_jobs([*good, good[3]])
    assert [handle.created for handle in handles] == [True] * 35 + [False]
    assert handles[35] == handles[3]
    await shop.app.close()


def test_ids_that_were_given_tell_what_was_there(shop: Shop) -> None:
    batch = [NewJob(kind="a", payload=n, id=uuid7()) for n in range(3)]
    assert [handle.created for handle in shop.app.sync.enqueue_jobs(batch[:2])] == [True, True]
    assert [handle.created for handle in shop.app.sync.enqueue_jobs(batch)] == [False, False, True]


@pytest.mark.usefixtures("small_parts")
def test_parts_are_one_statement_on_a_callers_connection(shop: Shop) -> None:
    with psycopg.connect(shop.db.url(), autocommit=True) as conn:
        seen = "select count(distinct xmin::text) from windlass_data.ready"
        handles = shop.app.sync.using(conn).enqueue_many("a", range(35))
        shop.app.sync.using(conn).enqueue_jobs([NewJob(kind=f"k{n}", payload=35 + n) for n in range(25)])
    assert len(handles) == 35
    assert payloads(shop) == list(range(60))
    assert shop.db.fetch_value(seen, role="superuser") == 2


@pytest.mark.usefixtures("small_parts")
def test_an_unanswered_enqueue_in_parts_is_said_again_as_one(shop: Shop, tmp_path: Any) -> None:
    proxy = Proxy(shop.db.url(), tmp_path)
    with SyncClient(Settings(database_url=proxy.url)) as client:
        client.list_jobs()
        proxy.swallow()
        handles = client.enqueue_many("a", range(35))
        assert proxy.swallowed == 1
    proxy.refuse()
    assert payloads(shop) == list(range(35))
    assert [handle.created for handle in handles] == [True] * 35


def test_parts_are_made_once_and_when_they_are_asked_for() -> None:
    made = []

    def calls() -> Iterator[Call[Any]]:
        for n in range(3):
            made.append(n)
            yield Call(f"select {n}", (), list)

    parts = Parts(calls())
    first = iter(parts)
    assert (made, next(first).text, made) == ([0], "select 0", [0])
    assert [call.text for call in parts] == ["select 0", "select 1", "select 2"]
    assert [call.text for call in parts] == ["select 0", "select 1", "select 2"]
    assert made == [0, 1, 2]


@pytest.mark.parametrize(("count", "jobs"), [(1, 500), (500, 500), (25_000, 500), (1_000_000, 20_000)])
def test_a_transaction_has_few_parts(count: int, jobs: int) -> None:
    assert Split.of(count, 100, whole=False).jobs == jobs


def test_large_payloads_make_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windlass.client.batch, "PART_BYTES", 25)
    split = Split.of(5, 10, whole=False)
    assert list(split.arrays(["x" * 8] * 5)) == [(2, '["xxxxxxxx","xxxxxxxx"]')] * 2 + [(1, '["xxxxxxxx"]')]
    assert list(split.arrays([1, 2, 3])) == [(3, "[1,2,3]")]
    assert list(Split.of(5, 10, whole=True).arrays(["x" * 8] * 5)) == [
        (5, str(["x" * 8] * 5).replace("'", '"').replace(" ", ""))
    ]
    with pytest.raises(InvalidInput, match="limit is 10 bytes"):
        list(split.arrays(["x" * 9]))
