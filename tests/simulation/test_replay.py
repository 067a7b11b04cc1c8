"""The simulated database and PostgreSQL, told the same words, say and do the same."""

import pytest

from tests.simulation.core import Core
from tests.simulation.replay import Replay
from tests.simulation.values import Retry
from tests.simulation.variants import OUT_OF_ORDER
from tests.simulation.words import Cancel, Enqueue, Reschedule, Step, Word, ask
from tests.simulation.world import play
from tests.support import Server

STEPS = 150
TRACES = 50


@pytest.mark.every_version
def test_postgresql_does_what_the_core_does(server: Server) -> None:
    """A failure prints its seed, and all words up to the first that was answered otherwise."""
    with server.database() as db:
        replay = Replay(db)
        for seed in range(TRACES):
            told = play(seed, STEPS)
            differences = replay.differences(told.trace, told.core)
            assert not differences, "\n".join([f"seed {seed}", *differences])


def test_a_core_that_does_otherwise_is_found_out(server: Server) -> None:
    """By its answers, or by the rows that are left."""
    with server.database() as db:
        replay = Replay(db)
        told = play(0, STEPS, OUT_OF_ORDER)
        assert "PostgreSQL answered" in replay.differences(told.trace, told.core)[-1]
        told = play(0, STEPS)
        told.core.jobs[next(iter(told.core.jobs))].max_attempts += 1
        assert len(replay.differences(told.trace, told.core)) == 1


def test_a_late_word_for_a_job_whose_key_went_on_to_another(server: Server) -> None:
    """It finds its own job, which is there, whoever has the key."""

    def enqueue(job: int) -> Enqueue:
        return Enqueue(1, job, "a", "x", 1, 0, 1, None, "k", "active", Retry())

    words: list[Word] = [
        *(enqueue(1), Cancel(1, 1, None), enqueue(2), enqueue(1), Reschedule(1, 2, None, 1)),
        *(Cancel(1, 2, "enough"), enqueue(1), enqueue(2)),
    ]
    core = Core()
    trace = [Step(0, word, ask(core, word)) for word in words]
    assert [step.answer for step in trace if isinstance(step.word, Enqueue)] == [
        *((1, True), (2, True), (1, False), (1, False), (2, False))
    ]
    with server.database() as db:
        assert Replay(db).differences(trace, core) == []
