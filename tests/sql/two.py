"""Two sessions, stopped between their statements, so that a race runs the same way every time."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import psycopg

from tests.sql.steps import Session
from tests.support import Database

Step = Callable[[Session], Any]
Ending = Literal["commit", "rollback"]
ENDINGS: tuple[Ending, ...] = ("commit", "rollback")
DEADLINE = 20.0


class Running:
    """One statement in a thread of its own, and whether it waits for a lock."""

    def __init__(self, db: Database, session: Session, step: Step) -> None:
        self._db = db
        self._pid = session.conn.info.backend_pid
        self._result: Any = None
        self._thread = threading.Thread(target=self._run, args=(session, step), daemon=True)
        self._thread.start()

    def _run(self, session: Session, step: Step) -> None:
        self._result = attempt(session, step)

    def waits(self) -> bool:
        """True as soon as the statement waits for another session, False as soon as it has ended."""
        query = "select cardinality(pg_blocking_pids(%s)) > 0"
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            if not self._thread.is_alive():
                return False
            if self._db.fetch_value(query, self._pid, role="superuser"):
                return True
            self._thread.join(0.002)
        raise AssertionError("the statement neither ended nor waited")

    def result(self) -> Any:
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive(), "the statement has not ended"
        return self._result


@dataclass
class Race:
    """What the two steps got, and whether the second had to wait for the first."""

    first: Any
    second: Any
    waited: bool


def attempt(session: Session, step: Step) -> Any:
    """The step's result; an error of Windlass is a result too, by its code."""
    try:
        return step(session)
    except psycopg.Error as error:
        if error.sqlstate is not None and error.sqlstate.startswith("WL"):
            return error.sqlstate
        return error


class Two:
    """The two sessions of a race."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._first = Session(db.connect(autocommit=False))
        self._second = Session(db.connect(autocommit=False))

    def race(self, first: Step, second: Step, *, ending: Ending = "commit") -> Race:
        """Take the first step in an open transaction, start the second, then end the first's transaction."""
        got = attempt(self._first, first)
        running = Running(self._db, self._second, second)
        waited = running.waits()
        if ending == "commit":
            self._first.conn.commit()
        else:
            self._first.conn.rollback()
        then = running.result()
        if isinstance(then, psycopg.errors.LockNotAvailable):  # it waited too long: said again
            self._second.conn.rollback()
            then = attempt(self._second, second)
        self._second.conn.commit()
        for result in (got, then):
            if isinstance(result, Exception):
                raise result
        return Race(got, then, waited)
