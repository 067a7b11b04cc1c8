"""Enqueue: typed functions, options, duplicates, batches, limits."""

import asyncio
import threading
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from pydantic import BaseModel, Field

import windlass.client.carriers
from tests.integration.shop import LATER, Parcel, Shop
from tests.support import Clock
from windlass import IdempotencyConflict, InvalidInput, JobState, NewJob, NotFound, RetryPolicy, Windlass
from windlass.client import SyncJobHandle
from windlass.db.database import AsyncDatabase
from windlass.model import ClaimedJob, uuid7
from windlass.settings import Settings
from windlass.telemetry import running_job


async def test_a_job_is_still_the_plain_function(shop: Shop) -> None:
    assert shop.ship(Parcel(to="x")) == "100 g to x"
    assert await shop.add(1, b=2) == 3
    assert (shop.add.__name__, shop.add.__module__) == ("add", "tests.integration.shop")
    assert repr(shop.add) == "<job add>"


def test_parameters_become_the_payload(shop: Shop) -> None:
    assert shop.add.enqueue_sync(1).get().payload == {"a": 1}
    assert shop.add.enqueue_sync(1, b=2).get().payload == {"a": 1, "b": 2}
    assert shop.ship.enqueue_sync(Parcel(to="x")).get().payload == {"to": "x", "grams": 100}


def test_the_kind_says_what_an_enqueue_leaves_out(shop: Shop) -> None:
    @shop.app.job(
        kind="reports.monthly", queue="slow", priority=-5, max_attempts=2, retry="default", timeout=9
    )
    def report(month: int) -> None: ...

    job = report.enqueue_sync(month=4).get()
    assert (job.kind, job.queue, job.priority) == ("reports.monthly", "slow", -5)
    assert (job.max_attempts, job.retry, job.timeout) == (2, None, 9.0)
    assert (job.state, job.shown_state, job.attempt) == (JobState.QUEUED, "queued", 0)


def test_options_go_first(shop: Shop) -> None:
    policy = RetryPolicy(base_seconds=3, jitter="none", max_attempts=9)
    options = shop.add.options(
        queue="other", priority=7, run_at=LATER, retry=policy, timeout=timedelta(minutes=1)
    )
    job = options.options(priority=8, trace_id="t", correlation_id="c").enqueue_sync(1).get()
    assert (job.queue, job.priority, job.run_at, job.max_attempts) == ("other", 8, LATER, 9)
    assert job.retry == policy.to_json()
    assert (job.timeout, job.trace_id, job.correlation_id) == (60.0, "t", "c")
    assert job.shown_state == "scheduled"
    assert shop.add.enqueue_sync(1).get().queue == "default", "the function itself has not changed"


def test_an_unknown_option_is_refused(shop: Shop) -> None:
    options: Any = {"priorty": 3}
    with pytest.raises(InvalidInput, match="there is no option 'priorty': did you mean 'priority'"):
        shop.add.options(**options)
    with pytest.raises(InvalidInput, match="there is no option 'x': there are tenant"):
        shop.add.options(x=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"queue": "no good"}, "cannot be a queue"),
        ({"priority": 40_000}, "priority must be a whole number from -32768"),
        ({"run_at": LATER.replace(tzinfo=None)}, "needs a time with its time zone"),
        ({"run_at": LATER, "delay": 3}, "either run_at or delay"),
        ({"delay": -1}, "delay must be from 0"),
        ({"delay": float("nan")}, "delay must be a number"),
        ({"key": ""}, "must not be empty"),
        ({"key": "a\x00"}, "NUL"),
        ({"scope": "today"}, "scope must be forever or active"),
        ({"max_attempts": 0}, "max_attempts must be"),
        ({"retry": "never"}, "no retry preset"),
        ({"timeout": 0}, "timeout must be from 0.001"),
        ({"trace_id": "x" * 201}, "trace_id must be text of at most 200"),
        ({"tenant": "No Such"}, "cannot be a tenant slug"),
    ],
)
def test_options_are_checked_before_they_travel(shop: Shop, options: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        shop.add.options(**options).enqueue_sync(1)
    assert len(shop.app.sync.list_jobs()) == 0


def test_the_same_set_under_the_same_key_is_the_same_payload(shop: Shop) -> None:
    """In whichever order it happens to be: 0 and 8 share a place, and the first one has it."""

    def sort_out(numbers: set[int]) -> None: ...

    one, other = {0, 8}, {8, 0}
    assert list(one) != list(other)
    kind = shop.app.job(sort_out).options(key="k")
    first, again = kind.enqueue_sync(one), kind.enqueue_sync(other)
    assert (first == again, again.created) == (True, False)


class Total(BaseModel):
    total: int = Field(serialization_alias="Total")


def test_a_model_that_does_not_read_what_it_writes_is_no_fault_of_the_waiter(shop: Shop) -> None:
    def count() -> Total:
        return Total(total=3)

    handle: SyncJobHandle[Any] = shop.app.job(count).enqueue_sync()
    shop.work(count={"Total": 3})
    assert handle.wait(timeout=10) == {"Total": 3}


def test_what_the_client_takes_is_taken_by_the_database(shop: Shop) -> None:
    """Up to the last byte of JSON, though the database has other measures."""
    largest: list[Any] = ["x" * (1024 * 1024 - 2), [1] * (512 * 1024 - 1), {"s": [0.5] * 100_000}]
    for payload in largest:
        assert shop.app.sync.enqueue_job("a", payload).created
        assert shop.app.sync.enqueue_jobs([NewJob(kind="a", payload=payload, key=str(len(payload)))])[
            0
        ].created
    assert len(shop.app.sync.enqueue_many("a", largest)) == 3
    with pytest.raises(InvalidInput, match="is 1048577 bytes of JSON; the limit is 1048576"):
        shop.app.sync.enqueue_job("a", "x" * (1024 * 1024 - 1))


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ("x" * 1024 * 1024, "limit is 1048576 bytes"),
        ({"a": ["b\x00"]}, r"payload.a\[0\] contains a NUL character"),
        ("\ud800", "lone surrogate U\\+D800"),
        ({"a": float("inf")}, "payload.a is inf"),
        ({"a": {1: 2}}, "has the key 1, which is not text"),
        ({"a": object()}, "is an object, which JSON cannot hold"),
    ],
)
def test_a_payload_that_cannot_be_kept_is_refused_with_the_place(shop: Shop, payload: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        shop.app.sync.enqueue_job("a", payload)
    with pytest.raises(InvalidInput, match=why):
        shop.app.sync.enqueue_jobs([NewJob(kind="a", payload=1), NewJob(kind="a", payload=payload)])
    assert len(shop.app.sync.list_jobs()) == 0


def test_arguments_that_do_not_fit_are_refused(shop: Shop) -> None:
    add: Any = shop.add
    for arguments in ({"a": "many"}, {"b": 1}, {"a": 1, "c": 2}):
        with pytest.raises(InvalidInput, match="payload of 'add'"):
            add.enqueue_sync(**arguments)
    with pytest.raises(InvalidInput, match="grams"):
        shop.ship.enqueue_many_sync([{"to": "x"}, {"to": "y", "grams": 0}])
    assert len(shop.app.sync.list_jobs()) == 0


def test_a_duplicate_is_the_job_that_is_there(shop: Shop) -> None:
    once = shop.add.options(key="k")
    first, second = once.enqueue_sync(1), once.enqueue_sync(1)
    assert (first.created, second.created) == (True, False)
    assert first == second
    assert len({first, second}) == 1
    with pytest.raises(IdempotencyConflict, match=f"'k' is taken by job {first.id}") as taken:
        once.enqueue_sync(2)
    assert taken.value.details["job_id"] == str(first.id)
    assert len(shop.app.sync.list_jobs()) == 1
    assert shop.ship.options(key="k").enqueue_sync(Parcel(to="x")).created, "keys are per kind"


def test_an_active_key_is_free_again_when_its_job_has_ended(shop: Shop) -> None:
    once = shop.add.options(key="k", scope="active")
    first = once.enqueue_sync(1)
    assert once.enqueue_sync(1).created is False
    first.cancel()
    second = once.enqueue_sync(2)
    assert (second.created, second == first) == (True, False)


def test_an_id_may_be_given(shop: Shop) -> None:
    job_id = uuid7()
    first = shop.add.options(id=job_id).enqueue_sync(1)
    second = shop.add.options(id=job_id).enqueue_sync(1)
    assert (first.id, first.created, second.created) == (job_id, True, False)
    with pytest.raises(IdempotencyConflict):
        shop.add.options(id=job_id).enqueue_sync(2)


def test_a_delay_counts_by_the_databases_clock(shop: Shop, clock: Clock) -> None:
    clock.advance(timedelta(days=400))
    now = clock.freeze()
    assert shop.add.options(delay=90).enqueue_sync(1).get().run_at == now + timedelta(seconds=90)
    many = shop.add.options(delay=timedelta(hours=1)).enqueue_many_sync([1, 2])
    assert [handle.get().run_at for handle in many] == [now + timedelta(hours=1)] * 2
    assert many[0].get().shown_state == "scheduled"


async def test_many_at_once_in_their_order(shop: Shop) -> None:
    handles = await shop.add.enqueue_many([1, (2, 5), {"a": 3}, {"a": 4, "b": 6}])
    jobs = [await handle.get() for handle in handles]
    assert [job.payload for job in jobs] == [{"a": 1}, {"a": 2, "b": 5}, {"a": 3}, {"a": 4, "b": 6}]
    assert await shop.add.enqueue_many([]) == []
    parcels = await shop.ship.enqueue_many([Parcel(to="x"), {"to": "y", "grams": 5}])
    assert (await parcels[1].get()).payload == {"to": "y", "grams": 5}
    await shop.app.close()


def test_several_kinds_in_one_batch_with_their_duplicates(shop: Shop) -> None:
    batch = [
        shop.add.options(key="a").new(1),
        shop.ship.new(Parcel(to="x")),
        shop.add.options(key="b", priority=3).new(2),
        shop.add.options(key="a").new(1),
    ]
    first, second = shop.app.sync.enqueue_jobs(batch), shop.app.sync.enqueue_jobs(batch)
    assert [handle.created for handle in first] == [True, True, True, False]
    assert [handle.created for handle in second] == [False, True, False, False]
    assert first[0] == first[3] == second[0] == second[3]
    assert [first[n].get().kind for n in range(3)] == ["add", "ship", "add"]


def test_one_key_cannot_serve_many(shop: Shop) -> None:
    with pytest.raises(InvalidInput, match="one key cannot serve many jobs"):
        shop.add.options(key="a").enqueue_many_sync([1, 2])


def test_a_large_batch(shop: Shop) -> None:
    handles = shop.add.enqueue_many_sync(range(12_000))
    assert len({handle.id for handle in handles}) == 12_000
    assert handles[-1].get().payload == {"a": 11_999}


def test_threads_share_a_client(shop: Shop) -> None:
    threads = [threading.Thread(target=shop.add.enqueue_sync, args=[n]) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    payloads = [job.payload["a"] for job in shop.app.sync.list_jobs(limit=100)]
    assert sorted(payloads) == list(range(20))


def test_one_event_loop_after_another(shop: Shop) -> None:
    async def enqueue(n: int) -> str:
        async with shop.app:
            return (await (await shop.add.enqueue(n)).get()).kind

    assert [asyncio.run(enqueue(n)) for n in range(3)] == ["add"] * 3


async def test_many_tasks_open_one_pool(shop: Shop) -> None:
    handles = await asyncio.gather(*(shop.add.enqueue(n) for n in range(30)))
    assert len({handle.id for handle in handles}) == 30
    sessions = "select count(*) from pg_stat_activity where datname = %s and application_name = 'windlass'"
    assert shop.db.fetch_value(sessions, shop.db.name) <= 4, "the size of one pool"
    await shop.app.close()


def test_a_tenant_is_named_by_slug_or_id(shop: Shop) -> None:
    acme = shop.app.sync.create_tenant("acme", "Acme")
    by_slug = shop.add.options(tenant="acme").enqueue_sync(1)
    by_id = shop.add.options(tenant=acme).enqueue_sync(1)
    by_text = shop.add.options(tenant=str(acme)).enqueue_sync(1)
    assert {by_slug.tenant_id, by_id.tenant_id, by_text.tenant_id} == {acme}
    assert by_slug.get().tenant_id == acme
    with pytest.raises(NotFound):
        shop.app.sync.get_job(by_slug.id)
    assert shop.app.sync.get_job(by_slug.id, tenant="acme").id == by_slug.id
    with pytest.raises(NotFound, match="there is no tenant 'nobody'"):
        shop.add.options(tenant="nobody").enqueue_sync(1)
    other = Windlass(settings=Settings(database_url=shop.db.url(), tenant="acme"))
    assert other.sync.enqueue_job("a").tenant_id == acme
    other.close_sync()


def test_a_tenant_that_was_rolled_back_is_forgotten(shop: Shop) -> None:
    with psycopg.connect(shop.db.url()) as conn:
        shop.app.sync.using(conn).create_tenant("acme", "Acme")
        shop.add.options(tenant="acme", connection=conn).enqueue_sync(1)
        conn.rollback()
    with pytest.raises(NotFound):
        shop.add.options(tenant="acme").enqueue_sync(1)
    acme = shop.app.sync.create_tenant("acme", "Acme")
    assert shop.add.options(tenant="acme").enqueue_sync(1).tenant_id == acme


def test_a_job_enqueued_by_a_handler_belongs_where_the_handlers_job_does(shop: Shop) -> None:
    acme = shop.app.sync.create_tenant("acme", "Acme")
    running = ClaimedJob(
        id=uuid7(), tenant_id=acme, queue="q", kind="k", priority=0, payload={}, token=uuid7(), version=1,
        counted=1, max_attempts=5, expires_at=LATER, trace_id="trace", correlation_id="order 7",
        created_at=LATER, timeout=None,
    )  # fmt: skip
    with running_job("node", running):
        job = shop.add.enqueue_sync(1).get()
        said = shop.add.options(tenant="default", trace_id="mine").enqueue_sync(1)
    assert (job.tenant_id, job.trace_id, job.correlation_id) == (acme, "trace", "order 7")
    assert said.get().trace_id == "mine"
    assert said.tenant_id != acme


def test_two_event_loops_at_once_keep_a_pool_each(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    turns, pools = threading.Barrier(2), []

    class Counted(AsyncDatabase):
        async def open(self) -> None:
            pools.append(self)
            await super().open()

    async def enqueue() -> None:
        async with shop.app.client as client:
            for n in range(5):
                await asyncio.to_thread(turns.wait, 60)
                await client.enqueue_job("a", n)
            await asyncio.to_thread(turns.wait, 60)

    monkeypatch.setattr(windlass.client.carriers, "AsyncDatabase", Counted)
    thread = threading.Thread(target=lambda: asyncio.run(enqueue()))
    thread.start()
    asyncio.run(enqueue())
    thread.join()
    assert (len(pools), len(shop.app.sync.list_jobs())) == (2, 10)
