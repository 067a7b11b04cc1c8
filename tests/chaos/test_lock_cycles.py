"""Verbs that meet on one attempt wait in one direction only, however soon the server looks for a cycle."""

import json
import threading
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.chaos.fleet import eventually
from tests.support import Database

ROUNDS = 150
_TENANT = "00000000-0000-7000-8000-000000000001"
SET = "select windlass.set_limit({})"
ENQUEUE = "select job_id from windlass.enqueue_jobs(%s, %s)"
CLAIM = "select token, job_id from windlass.claim_jobs(gen_random_uuid(), array['default'], p_limit => %s)"


def session(db: Database) -> psycopg.Connection[Any]:
    connection = db.connect("superuser")
    connection.execute("set deadlock_timeout = '1ms'")
    return connection


def say(connection: psycopg.Connection[Any], text: str, values: list[Any]) -> str | None:
    """The code with which it was refused."""
    try:
        connection.execute(text.encode(), values)
    except psycopg.Error as error:
        return error.sqlstate
    return None


class Race:
    """Two sessions that begin at the same moment."""

    def __init__(self, db: Database) -> None:
        self._sessions = [session(db), session(db)]
        self._threads = ThreadPoolExecutor(2)
        self._start = threading.Barrier(2)

    def run(self, *said: tuple[str, list[Any]]) -> list[str | None]:
        def begin(connection: psycopg.Connection[Any], words: tuple[str, list[Any]]) -> str | None:
            self._start.wait()
            return say(connection, *words)

        return list(self._threads.map(begin, self._sessions, said))


@pytest.mark.parametrize("verb", ["complete_jobs", "fail_jobs", "release_jobs"])
def test_a_transactional_finish_and_a_report_on_the_same_attempt(db: Database, verb: str) -> None:
    """The one shares the lease and writes the attempt, the other writes the attempt and drops the lease."""
    maker, race = db.connect(), Race(db)
    maker.execute(
        ENQUEUE, [_TENANT, json.dumps([{"kind": "k", "payload": {}, "max_attempts": 9999}] * ROUNDS)]
    )
    codes = set[str | None]()
    for _ in range(ROUNDS):
        held = maker.execute(CLAIM, [1]).fetchone()
        assert held is not None
        report = f"select * from windlass.{verb}(%s, %s)", [[held[0]], [held[1]]]
        codes.update(race.run(("select windlass.finish_job(%s, %s)", list(held)), report))
    assert codes <= {None, "WL003"}


@pytest.mark.parametrize("verb", ["complete_jobs", "fail_jobs", "snooze_jobs"])
def test_costs_are_recorded_while_several_leases_are_dropped(db: Database, verb: str) -> None:
    """A report drops its leases in whatever order, so nobody may hold one of them and wait for the next."""
    maker, race = db.connect(), Race(db)
    jobs = [{"kind": f"k{n}", "payload": {}, "max_attempts": 9999} for n in range(8)]
    maker.execute(ENQUEUE, [_TENANT, json.dumps(jobs * ROUNDS)])
    codes = Counter[str | None]()
    for _ in range(ROUNDS):
        held = maker.execute(CLAIM, [len(jobs)]).fetchall()
        words: list[Any] = [[token for token, _ in held], [job_id for _, job_id in held]]
        assert len(set(words[0])) == len(jobs)
        cost = "select * from windlass.record_costs(%s, %s, %s, %s)", [*words, [1] * 8, ["x"] * 8]
        delays = [[0.0] * 8] if verb == "snooze_jobs" else []
        report = f"select * from windlass.{verb}(%s, %s{', %s' * len(delays)})", [*words, *delays]
        told, reported = race.run(cost, report)
        assert reported is None
        codes[told] += 1
    assert set(codes) <= {None, "55P03"}
    assert codes[None]


class Two:
    """Sessions that wait for each other, in threads of their own."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._threads = ThreadPoolExecutor(4)

    def say(self, text: str, *values: Any) -> "Future[list[Any]]":
        """Said by a new session; returns as soon as that waits for somebody."""
        connection = session(self._db)
        said = self._threads.submit(lambda: connection.execute(text.encode(), values or None).fetchall())
        pid, waits = (
            connection.info.backend_pid,
            "select wait_event_type from pg_stat_activity where pid = %s",
        )
        eventually(lambda: self._db.fetch_value(waits, pid, role="superuser") == "Lock", "it waits")
        return said


def test_a_limit_is_changed_while_a_claim_holds_it(db: Database) -> None:
    """A claim that takes tokens twice looks whether the limit is there, which a change must not forbid."""
    claimer = session(db)
    claimer.execute(SET.format("p_kind => 'k', p_rate => 100"))
    claimer.execute(ENQUEUE, [_TENANT, json.dumps([{"kind": "k", "payload": {}}] * 2)])
    claim = "select job_id from windlass.claim_jobs(gen_random_uuid(), array['default'])"
    for change in (SET.format("p_kind => 'k', p_rate => 50"), "select windlass.clear_limit(p_kind => 'k')"):
        with claimer.transaction():
            first = claimer.execute(claim).fetchall()
            changed = Two(db).say(change)
            assert len(first + claimer.execute(claim).fetchall()) == 2
            claimer.execute(
                "select windlass.release_jobs(array_agg(id), array_agg(job_ids[1])) from windlass_data.lease"
            )
        assert changed.result(10)


def test_a_depth_is_limited_while_others_stand_in_line_to_enqueue(db: Database) -> None:
    """Whoever began before that need not hold the new limit, and must not wait for it."""
    holder, jobs = session(db), json.dumps([{"kind": "k", "payload": {}}] * 2)
    holder.execute(SET.format("p_kind => 'k', p_concurrency => 9"))
    holder.execute(SET.format("p_queue => 'default', p_depth => 99"))
    two = Two(db)
    with holder.transaction():
        holder.execute(ENQUEUE, [_TENANT, jobs])
        before = two.say(ENQUEUE, _TENANT, jobs)
        partial = two.say(ENQUEUE.replace("%s)", "%s, true)"), _TENANT, jobs)
        session(db).execute(SET.format("p_kind => 'k', p_depth => 99"))
        after = two.say(ENQUEUE, _TENANT, jobs)
    assert [len(said.result(10)) for said in (before, partial, after)] == [2, 2, 2]


def test_dead_jobs_with_a_key_are_redriven_by_two_at_once(db: Database) -> None:
    """The second finds them revived, and revives nothing twice."""
    one = session(db)
    one.execute(
        ENQUEUE,
        [_TENANT, json.dumps([{"kind": "k", "payload": {}, "concurrency_key": "x", "max_attempts": 1}])],
    )
    held = one.execute(
        "select token, job_id from windlass.claim_jobs(gen_random_uuid(), array['default'])"
    ).fetchone()
    assert held is not None
    one.execute("select windlass.fail_jobs(array[%s], array[%s])", held)
    redrive = "select job_id from windlass.redrive_jobs(%s, p_everything => true)"
    with one.transaction():
        assert one.execute(redrive, [_TENANT]).fetchall() == [(held[1],)]
        other = Two(db).say(redrive, _TENANT)
    assert other.result(10) == []
