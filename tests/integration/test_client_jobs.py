"""What becomes of a job: wait, look, cancel, reschedule, redrive."""

import asyncio
from datetime import timedelta
from typing import assert_type

import pytest
from pydantic import BaseModel

from tests.integration.shop import LATER, Shop
from tests.support import Clock
from windlass import InvalidInput, InvalidTransition, JobFailed, JobState, NotFound, Skip, WaitTimeout
from windlass.model import Outcome


class Weather(BaseModel):
    degrees: float


def test_wait_gives_the_result(shop: Shop) -> None:
    handle = shop.add.enqueue_sync(1)
    shop.work(add=2)
    assert handle.wait(timeout=30) == 2


async def test_wait_notices_an_end_that_comes_later(shop: Shop) -> None:
    handle = await shop.add.enqueue(1)
    waiting = asyncio.create_task(handle.wait(timeout=30))
    await asyncio.sleep(0)
    await asyncio.to_thread(shop.work, add=2)
    assert await waiting == 2
    await shop.app.close()


def test_a_result_is_read_as_the_handler_declares_it(shop: Shop) -> None:
    @shop.app.job
    def forecast(city: str) -> Weather | Skip:
        return Weather(degrees=len(city))

    handle = forecast.enqueue_sync("Rome")
    shop.work(forecast={"degrees": 21})
    assert assert_type(handle.wait(), Weather) == Weather(degrees=21)  # no decision comes back
    assert shop.app.sync.wait_job(handle.id) == Weather(degrees=21)
    assert handle.get().result == {"degrees": 21}


def test_a_dead_job_is_an_error_that_says_why(shop: Shop) -> None:
    handle = shop.add.options(max_attempts=1).enqueue_sync(1)
    shop.work(error="out of numbers")
    with pytest.raises(JobFailed, match=r"\(add\) is dead after 1 attempt: out of numbers") as caught:
        handle.wait()
    assert (caught.value.state, caught.value.attempts) == ("dead", 1)
    assert caught.value.error is not None
    assert caught.value.error["type"] == "ValueError"
    assert caught.value.details["job_id"] == handle.id


def test_an_error_without_a_text_is_named_by_its_type(shop: Shop) -> None:
    handle = shop.add.options(max_attempts=1).enqueue_sync(1)
    shop.work(error="")
    with pytest.raises(JobFailed, match=r"\(add\) is dead after 1 attempt: ValueError$"):
        handle.wait()


def test_a_canceled_job_is_an_error_too(shop: Shop) -> None:
    handle = shop.add.enqueue_sync(1)
    assert handle.cancel("not needed") is JobState.CANCELED
    with pytest.raises(JobFailed, match="is canceled: not needed"):
        handle.wait()
    assert handle.get().ended_reason == "not needed"


def test_a_skipped_job_says_why(shop: Shop) -> None:
    handle = shop.add.enqueue_sync(1)
    (held,) = shop.db.fetch("select job_id, token from windlass.claim_jobs(gen_random_uuid(), '{default}')")
    complete = "select windlass.complete_jobs(array[%s], array[%s], array[%s]::jsonb[], null, '{skipped}')"
    shop.db.fetch(complete, held.token, held.job_id, '{"reason": "nothing new"}')
    with pytest.raises(JobFailed, match="is skipped after 1 attempt: nothing new"):
        handle.wait()


def test_waiting_ends(shop: Shop) -> None:
    handle = shop.add.enqueue_sync(1)
    with pytest.raises(WaitTimeout, match=r"is still queued after 0\.05 seconds"):
        handle.wait(timeout=0.05)
    with pytest.raises(WaitTimeout, match=r"is still queued after 1 second$"):
        handle.wait(timeout=1)
    with pytest.raises(WaitTimeout):
        handle.wait(timeout=0)
    for never in (float("nan"), "3"):
        with pytest.raises(InvalidInput, match="a timeout is a number of seconds"):
            handle.wait(timeout=never)  # type: ignore[arg-type]


def test_waiting_for_nothing(shop: Shop) -> None:
    with pytest.raises(NotFound):
        shop.app.sync.wait_job("00000000-0000-7000-8000-000000000009", timeout=30)
    with pytest.raises(InvalidInput, match="is not the id of a job"):
        shop.app.sync.wait_job("latest")


def test_a_handle_can_be_had_later(shop: Shop) -> None:
    job_id = shop.add.enqueue_sync(1).id
    handle = shop.app.sync.handle(str(job_id))
    assert (handle.get().id, handle.created) == (job_id, False)


def test_history_and_attempts(shop: Shop) -> None:
    handle = shop.add.options(retry="doubling_to_an_hour").enqueue_sync(1)
    shop.work(error="once")
    assert handle.get().shown_state == "retrying"
    (attempt,) = handle.attempts()
    assert (attempt.number, attempt.outcome, attempt.counted) == (1, Outcome.FAILED, 1)
    assert attempt.error == {"type": "ValueError", "message": "once"}
    handle.cancel("enough")
    whats = [step.what for step in handle.history()]
    assert whats[0] == "enqueued"
    assert "failed" in whats
    assert handle.history()[-1].reason == "enough"


def test_an_ended_job_cannot_be_canceled(shop: Shop) -> None:
    handle = shop.add.enqueue_sync(1)
    shop.work(add=2)
    with pytest.raises(InvalidTransition):
        handle.cancel()


def test_reschedule(shop: Shop, clock: Clock) -> None:
    handle = shop.add.enqueue_sync(1)
    assert shop.app.sync.reschedule_job(handle.id, run_at=LATER, priority=5) == LATER
    job = handle.get()
    assert (job.run_at, job.priority, job.shown_state) == (LATER, 5, "scheduled")
    assert shop.app.sync.reschedule_job(handle.id, priority=6) == LATER
    now = clock.freeze()
    assert shop.app.sync.reschedule_job(handle.id, delay=60) == now + timedelta(seconds=60)
    shop.app.sync.reschedule_job(handle.id)
    assert handle.get().shown_state == "queued"
    with pytest.raises(InvalidInput, match="either run_at or delay"):
        shop.app.sync.reschedule_job(handle.id, run_at=LATER, delay=1)


def test_redrive_by_filter_with_a_dry_run(shop: Shop) -> None:
    handles = shop.add.options(max_attempts=1).enqueue_many_sync(range(3))
    for error in ("disk full", "disk gone", "bad number"):
        shop.work(error=error)
    would = shop.app.sync.redrive_jobs(error_like="disk%", dry_run=True)
    assert {job.job_id for job in would} == {handle.id for handle in handles[:2]}
    assert handles[0].get().state is JobState.DEAD
    done = shop.app.sync.redrive_jobs(kinds="add", error_like="disk%", reason="new disk", max_attempts=3)
    assert done == would
    assert [handle.get().state for handle in handles] == [JobState.QUEUED, JobState.QUEUED, JobState.DEAD]
    assert handles[0].get().max_attempts == 3


def test_redrive_by_name(shop: Shop) -> None:
    dead, queued = shop.add.options(max_attempts=1).enqueue_many_sync([1, 2])
    shop.work(error="no")
    with pytest.raises(InvalidTransition):
        shop.app.sync.redrive_jobs([dead.id, queued.id])
    assert [job.job_id for job in shop.app.sync.redrive_jobs([str(dead.id)])] == [dead.id]


async def test_pages(shop: Shop) -> None:
    handles = await shop.add.enqueue_many(range(25))
    ids = [handle.id for handle in reversed(handles)]
    client, seen, cursor = shop.app.client, [], None
    while True:
        page = await client.list_jobs(limit=10, cursor=cursor)
        seen += [job.id for job in page]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == ids
    assert [job.id async for job in client.iterate_jobs()] == ids
    assert [job.id for job in shop.app.sync.iterate_jobs(kinds=["add"])] == ids
    assert list(shop.app.sync.iterate_jobs(kinds="nothing")) == []
    await shop.app.close()


def test_filters(shop: Shop) -> None:
    shop.add.options(correlation_id="order 7").enqueue_sync(1)
    shop.add.options(run_at=LATER).enqueue_sync(2)
    canceled = shop.add.options(queue="other").enqueue_sync(3)
    canceled.cancel()
    listed = shop.app.sync.list_jobs
    assert [job.payload["a"] for job in listed(correlation_id="order 7")] == [1]
    assert [job.payload["a"] for job in listed(states="scheduled")] == [2]
    assert [job.payload["a"] for job in listed(states=[JobState.CANCELED, "dead"])] == [3]
    assert [job.payload["a"] for job in listed(queues="other")] == [3]
    assert len(listed(created_to=canceled.get().created_at)) == 2
    assert len(listed(created_from=LATER)) == 0
    with pytest.raises(InvalidInput):
        listed(cursor="nonsense")
    with pytest.raises(InvalidInput, match="time zone"):
        listed(created_from=LATER.replace(tzinfo=None))
