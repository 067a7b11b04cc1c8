"""Limits, keys and explanations through the client, awaited and blocking."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from tests.integration.shop import Parcel, Shop
from windlass import InvalidInput, LimitExceeded, NewJob, NotFound
from windlass.errors import Forbidden


async def test_a_limit_from_its_beginning_to_its_end(shop: Shop) -> None:
    async with shop.app as app:
        client = app.client
        await client.create_tenant("acme")
        made = await client.set_limit(
            tenant="acme",
            kind="ship",
            concurrency=2,
            rate=60,
            per=timedelta(minutes=1),
            reason="plan",
            actor="ann",
        )
        assert await client.set_limit(tenant="acme", kind="ship", depth=5, budget_cents=100) == made
        (limit,) = await client.list_limits(tenant="acme")
        assert (limit.id, limit.scope, limit.actor) == (made, "tenant acme, kind ship", "windlass_app")
        assert (limit.concurrency, limit.running) == (2, 0)
        assert (limit.rate, limit.rate_seconds, limit.burst, limit.tokens) == (60, 60, 60, 60)
        assert (limit.depth, limit.waiting, limit.budget_period, limit.spent_cents) == (5, 0, "day", 0)
        assert limit.read_at is not None
        assert limit.changed_at is not None
        assert limit.read_at >= limit.changed_at
        assert await client.list_limits(tenant="default") == []

        await client.clear_limit(tenant="acme", kind="ship", what=["rate", "budget"])
        (limit,) = await client.list_limits()
        assert (limit.concurrency, limit.rate, limit.tokens, limit.depth, limit.budget_cents) == (
            2,
            None,
            None,
            5,
            None,
        )
        await client.clear_limit(tenant="acme", kind="ship")
        with pytest.raises(NotFound):
            await client.clear_limit(tenant="acme", kind="ship")
        assert await client.list_limits() == []


def test_what_makes_no_sense_reaches_no_database(shop: Shop) -> None:
    client = shop.app.sync
    for said in (
        {"budget_cents": 0.5},
        {"rate": 5, "per": 0},
        {"concurrency": -1},
        {"rate": 5, "per": float("nan")},
    ):
        with pytest.raises(InvalidInput):
            client.set_limit(queue="default", **said)
    with pytest.raises(InvalidInput, match="needs a concurrency, a rate, a depth or a budget"):
        client.set_limit(queue="default")
    with pytest.raises(InvalidInput, match="any of concurrency, rate, depth, budget"):
        client.clear_limit(queue="default", what="colour")
    with pytest.raises(NotFound):
        client.set_limit(tenant=uuid4(), depth=1)
    assert client.list_limits() == []


def test_a_full_line_refuses_a_batch_as_a_whole(shop: Shop) -> None:
    shop.app.sync.set_limit(queue="parcels", depth=3)
    shop.ship.enqueue_sync(Parcel(to="a"))
    with pytest.raises(LimitExceeded, match="at most 3 jobs of queue parcels may wait") as refusal:
        shop.ship.enqueue_many_sync([Parcel(to="b"), Parcel(to="c"), Parcel(to="d")])
    assert [refusal.value.details[name] for name in ("depth", "waiting", "new")] == [3, 1, 3]
    assert shop.jobs == ["a"]


def test_of_a_batch_what_fits(shop: Shop) -> None:
    client = shop.app.sync
    new = [shop.ship.new(Parcel(to=name)) for name in "abc"]
    assert all(client.enqueue_fitting(new[:1])), "without a limit all of them"
    client.set_limit(queue="parcels", depth=3)
    first, second, third = client.enqueue_fitting([*new[1:], shop.ship.new(Parcel(to="d"))])
    assert first is not None
    assert second is not None
    assert (first.created, first.get().payload["to"], third) == (True, "b", None)
    assert shop.jobs == ["a", "b", "c"]
    assert client.enqueue_fitting([]) == []
    assert client.enqueue_fitting(new) == [None, None, None]


async def test_one_of_many_enqueues_at_once_is_refused_and_the_others_are_not(shop: Shop) -> None:
    async with shop.app as app:
        await app.client.set_limit(queue="default", depth=5)
        answers = await asyncio.gather(*(shop.add.enqueue(n) for n in range(8)), return_exceptions=True)
    assert sum(isinstance(answer, LimitExceeded) for answer in answers) == 3


class Letter(Parcel):
    """One address at a time."""


def post(letter: Letter) -> None: ...


def claimed(shop: Shop) -> list[str]:
    """The addresses of the letters that may be posted now."""
    claim = "select payload from windlass.claim_jobs(%s, '{default}', p_kinds => '{post}', p_limit => 50)"
    return sorted(row.payload["to"] for row in shop.db.fetch(claim, uuid4()))


async def test_each_payload_of_a_batch_has_its_own_key(shop: Shop) -> None:
    declared = shop.app.job(concurrency_key="to", concurrency_limit=2)(post)
    async with shop.app:
        handles = await declared.enqueue_many([{"to": name} for name in ("ann", "ben", "ann", "ann")])
        assert claimed(shop) == ["ann", "ann", "ben"]
        (reason, *_) = await handles[3].explain()
    assert (reason.code, reason.details["key"], reason.details["maximum"]) == ("key", "ann", 2)
    assert {UUID(job) for job in reason.details["running"]} == {handles[0].id, handles[2].id}


def test_one_key_for_a_whole_batch_and_keys_by_name(shop: Shop) -> None:
    declared = shop.app.job(concurrency_key="to")(post)
    declared.options(concurrency_key=7).enqueue_many_sync([Letter(to=name) for name in ("ann", "ben")])
    assert claimed(shop) == ["ann"]
    client = shop.app.sync
    client.enqueue_job("post", {"to": "cleo"}, concurrency_key="c")
    client.enqueue_many("post", [{"to": "dora"}, {"to": "emil"}], concurrency_key="c", concurrency_limit=3)
    client.enqueue_jobs([NewJob(kind="post", payload={"to": name}, concurrency_key="x") for name in "fg"])
    assert claimed(shop) == ["cleo", "dora", "emil", "f"]


def test_an_explanation_on_both_faces(shop: Shop) -> None:
    handle = shop.add.options(delay=3600).enqueue_sync(1)
    found = handle.explain()
    assert [reason.code for reason in found] == ["not_due", "no_worker"]
    assert found.reasons[0].clears_at == handle.get().run_at
    assert found.job_id == handle.id
    assert abs(found.read_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert not found.claimable
    with pytest.raises(NotFound):
        shop.app.sync.explain_job(uuid4())


def test_a_producer_may_ask_why_and_may_not_limit(shop: Shop) -> None:
    job = shop.add.enqueue_sync(1)
    with shop.app.at(shop.db.url("producer")) as app:
        assert app.sync.explain_job(job.id).claimable
        with pytest.raises(Forbidden):
            app.sync.set_limit(queue="default", concurrency=1)
