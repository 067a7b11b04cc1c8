"""Verbs that meet on one attempt wait in one direction only, however soon the server looks for a cycle."""

import threading
from typing import Any

import psycopg
import pytest

from tests.support import Database

ROUNDS = 150
_TENANT = "00000000-0000-7000-8000-000000000001"


def session(db: Database) -> psycopg.Connection[Any]:
    connection = db.connect("superuser")
    connection.execute("set deadlock_timeout = '1ms'")
    return connection


@pytest.mark.parametrize("verb", ["complete_jobs", "fail_jobs", "release_jobs"])
def test_a_transactional_finish_and_a_report_on_the_same_attempt(db: Database, verb: str) -> None:
    """The one shares the lease and writes the attempt, the other writes the attempt and drops the lease."""
    maker, finisher, reporter = db.connect(), session(db), session(db)
    maker.execute(
        "select windlass.enqueue_job(%s, 'k', '{}', p_max_attempts => 9999) from generate_series(1, %s)",
        [_TENANT, ROUNDS],
    )
    codes: list[str | None] = []
    start = threading.Barrier(2)

    def say(connection: psycopg.Connection[Any], text: str, values: list[Any]) -> None:
        start.wait()
        try:
            connection.execute(text.encode(), values)
        except psycopg.Error as error:
            codes.append(error.sqlstate)

    for _ in range(ROUNDS):
        held = maker.execute(
            "select token, job_id from windlass.claim_jobs(gen_random_uuid(), array['default'])"
        ).fetchone()
        assert held is not None
        finish = "select windlass.finish_job(%s, %s)"
        report = f"select * from windlass.{verb}(%s, %s)"
        other = threading.Thread(target=say, args=[reporter, report, [[held[0]], [held[1]]]])
        other.start()
        say(finisher, finish, [held[0], held[1]])
        other.join()
    assert set(codes) <= {"WL003"}, codes
