"""The database is killed, restarted and cut off under working processes: nothing is lost."""

import os
import signal
from functools import partial
from uuid import UUID

import psycopg

from tests.chaos.fleet import Fleet, eventually
from windlass.db.embedded import EmbeddedServer


def answers(crew: Fleet) -> bool:
    try:
        return bool(crew.ask("select 1 as one"))
    except psycopg.Error:
        return False


def ended(crew: Fleet, count: int) -> bool:
    return len(crew.ledger("end")) >= count


def is_back(crew: Fleet, server: EmbeddedServer, old_pid: int) -> bool:
    return server.postmaster_pid not in (None, old_pid) and answers(crew)


def more_succeeded(crew: Fleet, ids: list[UUID], count: int) -> bool:
    return crew.states(ids).get("succeeded", 0) > count


def test_a_server_killed_under_its_workers(lone_crew: Fleet, own_server: EmbeddedServer) -> None:
    crew = lone_crew
    crew.start(lease_seconds=3.0)
    crew.start(lease_seconds=3.0)
    ids = crew.enqueue("nap", 150, seconds=0.05)
    for part in (20, 60):
        eventually(partial(ended, crew, part), "they work")
        postmaster = own_server.postmaster_pid
        assert postmaster is not None
        os.kill(postmaster, signal.SIGKILL)
        eventually(partial(is_back, crew, own_server, postmaster), "the server is back")
    eventually(lambda: crew.states(ids) == {"succeeded": 150}, "all end")
    more = crew.enqueue("nap", 10, seconds=0.0)
    eventually(lambda: crew.states(more) == {"succeeded": 10}, "and the workers go on")
    assert {line.job_id for line in crew.ledger("end")} >= {*ids, *more}


def test_sessions_ended_again_and_again(crew: Fleet) -> None:
    crew.start()
    crew.start()
    ids = crew.enqueue("nap", 200, seconds=0.03)
    killed = 0
    while (done := crew.states(ids).get("succeeded", 0)) < 200:
        (row,) = crew.ask(
            "select count(*) filter (where pg_terminate_backend(pid)) as n from pg_stat_activity "
            "where datname = current_database() and application_name like 'windlass %%'",
            inside=True,
        )
        killed += row.n
        eventually(partial(more_succeeded, crew, ids, done), "work goes on")
    assert killed > 4
    assert all(crew.outcomes(job_id)[-1] == "succeeded" for job_id in ids)
    succeeded = [crew.outcomes(job_id).count("succeeded") for job_id in ids]
    assert succeeded == [1] * 200
    eventually(lambda: crew.leases == 0, "no lease is left behind")


def test_a_worker_waits_for_a_database_that_starts_later(crew: Fleet) -> None:
    """Refused at first, it becomes ready when it is let in."""
    name = crew.ask("select current_database() as name")[0].name
    crew.ask(f'revoke connect on database "{name}" from public', inside=True)
    worker = crew.launch()
    eventually(lambda: crew.logged("starting: "), "it was refused")
    assert worker.running
    crew.ask(f'grant connect on database "{name}" to public', inside=True)
    worker.ready()
    ids = crew.enqueue("nap", seconds=0)
    eventually(lambda: crew.states(ids) == {"succeeded": 1}, "it works")
