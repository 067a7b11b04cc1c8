"""Worker processes are killed, stopped and frozen: every job ends, and none ends twice."""

import signal

from tests.chaos.fleet import Fleet, eventually, is_gone


def test_a_killed_worker_loses_no_job(crew: Fleet) -> None:
    doomed = crew.start()
    ids = crew.enqueue("nap", 8, seconds=0.3)
    eventually(lambda: len(crew.ledger("start")) >= 4, "it works")
    doomed.send(signal.SIGKILL)
    doomed.wait()
    half_done = {line.job_id for line in crew.ledger("start")} - {line.job_id for line in crew.ledger("end")}
    assert crew.leases > 0
    crew.start()
    eventually(lambda: crew.states(ids) == {"succeeded": 8}, "another worker recovers all")
    for job_id in ids:
        assert crew.outcomes(job_id) in (["succeeded"], ["crashed", "succeeded"])
    assert all(crew.outcomes(job_id) == ["crashed", "succeeded"] for job_id in half_done)
    assert crew.leases == 0


def test_a_killed_worker_takes_its_children_along(crew: Fleet) -> None:
    worker = crew.start()
    (job_id,) = crew.enqueue("in_child", seconds=600, max_attempts=1)
    eventually(lambda: crew.ledger("start"), "the child works")
    child = crew.ledger("start")[0].pid
    assert child != worker.pid
    begun = "select id from windlass_data.lease where cardinality(begun) > 0"
    eventually(lambda: crew.ask(begun, inside=True), "the database knows that it began")
    worker.send(signal.SIGKILL)
    worker.wait()
    eventually(lambda: is_gone(child), "the child ends with its worker")
    crew.start()
    eventually(lambda: crew.states([job_id]) == {"dead": 1}, "the lease expires")
    assert crew.outcomes(job_id) == ["crashed"]


def test_sigterm_finishes_what_it_can_and_gives_back_the_rest(crew: Fleet) -> None:
    worker = crew.start(grace_seconds=1.5)
    (quick,) = crew.enqueue("nap", seconds=0.5)
    (slow,) = crew.enqueue("nap", seconds=600)
    (child,) = crew.enqueue("in_child", seconds=600)
    eventually(lambda: len(crew.ledger("start")) == 3, "all run")
    worker.send(signal.SIGTERM)
    (later,) = crew.enqueue("nap", seconds=0)
    assert worker.wait() == 0
    assert crew.job(quick).state == "succeeded"
    for job_id in (slow, child):
        assert (crew.job(job_id).state, crew.outcomes(job_id)) == ("queued", ["released"])
        assert crew.job(job_id).counted == 0
    assert (crew.job(later).state, crew.job(later).version) == ("queued", 0)
    assert crew.leases == 0


def test_a_second_sigterm_ends_it_now_even_with_handlers_that_cannot_be_stopped(crew: Fleet) -> None:
    worker = crew.start(grace_seconds=3600)
    (slow,) = crew.enqueue("nap", seconds=3600)
    (thread,) = crew.enqueue("stubborn", seconds=3600)
    (deaf,) = crew.enqueue("deaf", seconds=3600)
    eventually(lambda: len(crew.ledger("start")) == 3, "all run")
    worker.send(signal.SIGTERM)
    eventually(lambda: crew.logged("worker stopping"), "it heard the first")
    assert worker.running
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    for job_id in (slow, thread, deaf):
        assert (crew.job(job_id).state, crew.outcomes(job_id)) == ("queued", ["released"])
    assert crew.leases == 0


def test_a_job_that_kills_its_worker_ends_dead(crew: Fleet) -> None:
    (job_id,) = crew.enqueue("poison", max_attempts=2)
    (other,) = crew.enqueue("nap", seconds=0.0)
    for _ in range(2):
        assert crew.launch(lease_seconds=1.0, concurrency=1).wait() == 13
    # Of its last attempt nobody may know whether it began; then it is made once more.
    third = crew.launch(lease_seconds=1.0, concurrency=1)
    eventually(lambda: not third.running or crew.states([job_id]) == {"dead": 1}, "it dies, or the worker")
    crew.start(lease_seconds=1.0)
    eventually(lambda: crew.states([job_id, other]) == {"dead": 1, "succeeded": 1}, "it is given up")
    assert crew.outcomes(job_id) in (["crashed", "released", "crashed"], ["crashed", "crashed"])
    assert crew.job(job_id).error["type"] == "LeaseExpired"


def test_a_frozen_worker_comes_back_to_find_its_words_worth_nothing(crew: Fleet) -> None:
    frozen = crew.start(lease_seconds=1.0)
    ids = crew.enqueue("nap", 3, seconds=1.0)
    eventually(lambda: len(crew.ledger("start")) == 3, "all run")
    frozen.send(signal.SIGSTOP)
    other = crew.start(lease_seconds=10.0)
    eventually(lambda: crew.states(ids) == {"succeeded": 3}, "the other takes over")
    before = [crew.job(job_id) for job_id in ids]
    frozen.send(signal.SIGCONT)
    eventually(lambda: len(crew.logged("lease lost")) >= 3, "it lets go")
    assert [crew.outcomes(job_id) for job_id in ids] == [["crashed", "succeeded"]] * 3
    after = [crew.job(job_id) for job_id in ids]
    assert [(job.result, job.finished_at) for job in after] == [
        (job.result, job.finished_at) for job in before
    ]
    assert {job.result for job in after} == {2}
    # Nobody else is left: whatever ends from here on is the work of the one that was frozen.
    other.send(signal.SIGTERM)
    assert other.wait() == 0
    more = crew.enqueue("nap", 5, seconds=0.0)
    eventually(lambda: crew.states(more) == {"succeeded": 5}, "it goes on")


def test_work_that_holds_the_interpreter_for_three_leases_keeps_its_lease(crew: Fleet) -> None:
    crew.start(lease_seconds=1.5)
    crew.start(lease_seconds=1.5)
    ids = crew.enqueue("burn", seconds=4.5) + crew.enqueue("burn_in_c", seconds=4.5)
    eventually(lambda: crew.states(ids) == {"succeeded": 2}, "both end")
    assert [crew.outcomes(job_id) for job_id in ids] == [["succeeded"]] * 2
