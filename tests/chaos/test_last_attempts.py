"""A worker that is killed holds jobs that it never began: none of them ends dead, whatever their attempts."""

import signal
from functools import partial

from tests.chaos.fleet import Fleet, eventually

JOBS = 600
KILLS = 2
EACH = 150
_UNBEGUN = "select count(*) as n from windlass_data.attempt where error ->> 'begun' = 'false'"
_DEAD = "select job_id from windlass_data.attempt where ends = 'dead'"
_ENDED = "select count(*) as n from windlass_data.attempt where ends is not null"


def test_no_job_ends_dead_whose_handler_was_not_called(crew: Fleet) -> None:
    """Quick jobs, which are claimed ahead of need, with one attempt each."""
    crew.enqueue("chore", JOBS, max_attempts=1)
    for kill in range(1, KILLS + 1):
        doomed = crew.start(lease_seconds=1.0, concurrency=10)
        eventually(partial(_have_begun, crew, EACH * kill), "it works")
        doomed.send(signal.SIGKILL)
        doomed.wait()
    crew.start(lease_seconds=1.0)
    eventually(lambda: crew.ask(_ENDED, inside=True)[0].n == JOBS, "the rest is done")
    called = {line.job_id for line in crew.ledger("start")}
    dead = {row.job_id for row in crew.ask(_DEAD, inside=True)}
    assert dead <= called
    assert crew.ask(_UNBEGUN, inside=True)[0].n > 0, "some were held and not begun, or this shows nothing"


def _have_begun(crew: Fleet, count: int) -> bool:
    return len(crew.ledger("start")) >= count


def test_a_last_attempt_that_ran_when_its_worker_was_killed_counts(crew: Fleet) -> None:
    doomed = crew.start(lease_seconds=1.0)
    ids = crew.enqueue("chore", 2, max_attempts=1, seconds=600) + crew.enqueue(
        "errand", max_attempts=1, seconds=600
    )
    told = "select sum(cardinality(begun)) as n from windlass_data.lease"
    eventually(lambda: crew.ask(told, inside=True)[0].n == 3, "the database knows that they began")
    doomed.send(signal.SIGKILL)
    doomed.wait()
    crew.start(lease_seconds=1.0)
    eventually(lambda: crew.states(ids) == {"dead": 3}, "they are given up")
    assert [crew.outcomes(job_id) for job_id in ids] == [["crashed"]] * 3
