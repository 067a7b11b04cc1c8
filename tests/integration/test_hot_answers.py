"""Answers of any length on a connection of ours: read at once as far as they have come, and no further."""

import time
from select import poll
from typing import Any

import psycopg
import pytest
from psycopg.waiting import Ready, Wait

from tests.integration.crew import PATIENCE
from tests.support import Database
from windlass.db.call import Call
from windlass.db.connect import connect
from windlass.db.database import run
from windlass.db.hot import OurConnection, run_hot
from windlass.errors import WindlassError

LONG = "select repeat('x', 1000) from generate_series(1, 100)"
SLOW = "select repeat('x', 10000), pg_sleep(0.02)::text from generate_series(1, 10)"


def a_call(text: str) -> Call[list[Any]]:
    return Call(text, (), list, hot=True)


def connection_of(db: Database) -> OurConnection:
    return connect(db.url())


def wait_until_idle(db: Database, pid: int) -> None:
    """Until the server has sent all of its answer.

    It is idle also before it has seen what is asked, and calls itself so again before it has sent the last.
    """
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        query = "select state, wait_event, query from pg_stat_activity where pid = %s"
        (row,) = db.fetch(query, pid, role="superuser")
        if (row.state, row.wait_event, row.query) == ("idle", "ClientRead", LONG):
            return
        time.sleep(0.005)
    pytest.fail("the server is still busy")


def test_an_answer_that_has_come_is_read_without_waiting_for_each_part_of_it(db: Database) -> None:
    with connection_of(db) as connection:
        waiting = run_hot(connection, a_call(LONG))
        assert next(waiting) == Wait.R
        wait_until_idle(db, connection.info.backend_pid)
        with pytest.raises(StopIteration) as over:
            waiting.send(Ready.R)
        assert len(over.value.value) == 100


def test_a_part_that_has_not_come_is_waited_for(db: Database) -> None:
    with connection_of(db) as connection:
        waiting, waits = run_hot(connection, a_call(SLOW)), 1
        next(waiting)
        ready = poll()
        ready.register(connection.pgconn.socket, 1)
        with pytest.raises(StopIteration) as over:
            while True:
                assert ready.poll(PATIENCE * 1000)
                waiting.send(Ready.R)
                waits += 1
        assert len(over.value.value) == 10
        assert waits >= 5


def test_who_is_woken_for_nothing_waits_on(db: Database) -> None:
    """The driver comes back every now and then, to see whether somebody wants it to stop."""
    with connection_of(db) as connection:
        waiting = run_hot(connection, a_call("select pg_sleep(0.05)::text"))
        assert [next(waiting), waiting.send(Ready.NONE), next(waiting)] == [Wait.R] * 3
        assert len(connection.wait(waiting)) == 1


def test_a_connection_that_ends_within_an_answer_is_an_error(db: Database) -> None:
    with connection_of(db) as connection:
        waiting = run_hot(connection, a_call(SLOW))
        next(waiting)
        db.execute("select pg_terminate_backend(%s)", connection.info.backend_pid, role="superuser")
        with pytest.raises(psycopg.OperationalError):
            connection.wait(waiting)
        assert connection.broken


def test_an_error_behind_rows_is_the_answer_and_the_connection_goes_on(db: Database) -> None:
    failing = "select repeat('x', 10000), 1 / (5 - n) from generate_series(1, 10) as n"
    with connection_of(db) as connection:
        with pytest.raises(WindlassError, match="division by zero"):
            run(connection, a_call(failing))
        assert len(run(connection, a_call(LONG))) == 100
