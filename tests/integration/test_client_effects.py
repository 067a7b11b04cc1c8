"""An operation says what it needs, one effect at a time: here nothing is carried out."""

from collections.abc import Generator, Iterable, Iterator
from typing import Any
from uuid import UUID

import pytest

from windlass.client.core import Settled
from windlass.client.effects import Effect, Operation, Pause, repeating, run_effects, run_effects_async
from windlass.client.enqueue import EnqueueOperations
from windlass.client.jobs import JobOperations
from windlass.db.call import Call
from windlass.db.rpc_client import End
from windlass.db.rpc_enqueue import EnqueueCall, Enqueued
from windlass.errors import InvalidInput, Unavailable
from windlass.model import NewJob

ACME = UUID("0190a000-0000-7000-8000-000000000001")
JOB = "0190a000-0000-7000-8000-000000000002"
RUNNING = End("k", "running", None, None, 1, None)


def asked(operation: Operation[Any], *answers: Any) -> list[Effect]:
    """The effects of an operation that gets these answers and then stops being asked."""
    effects = [next(operation)]
    effects += [operation.send(answer) for answer in answers]
    operation.close()
    return effects


def enqueuer(**settled: Any) -> EnqueueOperations[tuple[UUID, UUID, bool]]:
    return EnqueueOperations(Settled(**settled), lambda *all: all)


def test_waiting_asks_ever_more_slowly() -> None:
    operation = JobOperations(Settled()).wait_job(JOB)
    answers = [answer for _ in range(15) for answer in (RUNNING, None)]
    effects = asked(operation, *answers)
    pauses = [effect.seconds for effect in effects if isinstance(effect, Pause)]
    assert (pauses[0], pauses[-1]) == (0.02, 0.5)
    assert pauses == sorted(pauses)
    assert len(pauses) == 15
    assert not any("payload" in effect.text for effect in effects if isinstance(effect, Call))


def test_waiting_never_sleeps_past_its_end() -> None:
    operation = JobOperations(Settled()).wait_job(JOB, timeout=0.01)
    _, pause = asked(operation, RUNNING)
    assert isinstance(pause, Pause)
    assert pause.seconds <= 0.01


def test_a_slug_is_looked_up_once_per_client() -> None:
    settled = Settled(tenant="acme")
    first = asked(JobOperations(settled).get_job(JOB), ACME)
    assert ["windlass.tenant_id(" in effect.text for effect in first if isinstance(effect, Call)] == [
        True,
        False,
    ]
    (second,) = asked(JobOperations(settled).get_job(JOB))
    assert isinstance(second, Call)
    assert second.values == (ACME, UUID(JOB))
    (other,) = asked(JobOperations(Settled(tenant="acme")).get_job(JOB))
    assert isinstance(other, Call)
    assert "windlass.tenant_id(" in other.text, "another client asks for itself"


def test_the_default_tenant_and_an_id_need_no_lookup() -> None:
    for tenant in (None, "default", ACME, str(ACME)):
        (effect,) = asked(JobOperations(Settled()).get_job(JOB, tenant=tenant))
        assert isinstance(effect, Call)
        assert "get_job" in effect.text


def test_an_enqueue_is_repeated_with_the_same_id() -> None:
    operation = enqueuer().enqueue(NewJob(kind="a", payload={}))
    first = next(operation)
    pause = operation.throw(Unavailable("gone"))
    second = next(operation)
    assert isinstance(pause, Pause)
    assert isinstance(first, EnqueueCall)
    assert isinstance(second, Call)
    assert first.values == second.values
    job_id = first.job.id
    assert job_id is not None
    with pytest.raises(StopIteration) as done:
        operation.send(Enqueued(job_id, created=False))
    assert done.value.value[2] is True, "it is ours: nobody else knows the id"


def test_on_a_callers_connection_nothing_is_repeated_and_nothing_is_split() -> None:
    operation = enqueuer(own_connection=False).enqueue_jobs([NewJob(kind="a", payload=0)] * 12_000)
    effect = next(operation)
    assert isinstance(effect, Call)
    with pytest.raises(Unavailable):
        operation.throw(Unavailable("gone"))


def test_repeating_gives_up_with_the_last_error() -> None:
    operation = repeating(Call("select 1", (), len), patience=0.0)
    next(operation)
    with pytest.raises(Unavailable, match="gone"):
        operation.throw(Unavailable("gone"))


def test_only_an_absent_database_is_asked_again() -> None:
    operation = repeating(Call("select 1", (), len), patience=30.0)
    next(operation)
    with pytest.raises(InvalidInput):
        operation.throw(InvalidInput("no"))


class Answers:
    """A carrier with prepared answers."""

    def __init__(self, *answers: Any) -> None:
        self._answers: Iterator[Any] = iter(answers)

    def run(self, call: Call[Any]) -> Any:
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def run_together(self, calls: Iterable[Call[Any]]) -> list[Any]:
        return [self.run(call) for call in calls]


class AsyncAnswers:
    def __init__(self, *answers: Any) -> None:
        self._answers = Answers(*answers)

    async def run(self, call: Call[Any]) -> Any:
        return self._answers.run(call)

    async def run_together(self, calls: Iterable[Call[Any]]) -> list[Any]:
        return self._answers.run_together(calls)


def careful() -> Generator[Effect, Any, list[Any]]:
    """An operation that gets an answer, survives an error and pauses."""
    call: Call[Any] = Call("select 1", (), len)
    got = [(yield call)]
    try:
        yield call
    except InvalidInput as error:
        got.append(str(error))
    got.append((yield Pause(0.0)))
    got.append((yield call))
    return got


async def test_both_drivers_do_the_same() -> None:
    answers = (1, InvalidInput("no"), 2)
    expected = [1, "no", None, 2]
    assert run_effects(careful(), Answers(*answers)) == expected
    assert await run_effects_async(careful(), AsyncAnswers(*answers)) == expected
    for unhandled in (Unavailable("gone"), KeyError("x")):
        with pytest.raises(type(unhandled)):
            run_effects(careful(), Answers(unhandled))
        with pytest.raises(type(unhandled)):
            await run_effects_async(careful(), AsyncAnswers(unhandled))
