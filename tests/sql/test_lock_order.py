"""Every verb at once, from several sessions on the same few jobs: nobody deadlocks, nothing is lost."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.sql.audit import seal, verify
from tests.sql.steps import Session
from tests.sql.whole import assert_whole, lapse
from tests.support import Database

pytestmark = pytest.mark.every_version

SESSIONS = 6
STEPS = 400
SEED = 7
KINDS = ("a", "b", "c")
LOCK_TIMEOUT = "55P03"  # a word that waited too long is said again by its worker


class Player:
    """One session that says whatever comes to mind about jobs that all players share."""

    def __init__(self, session: Session, shared: list[UUID], seed: int) -> None:
        self.session = session
        self.shared = shared
        self.source = random.Random(seed)
        self.held: list[Any] = []
        self.codes: Counter[str] = Counter()

    def play(self) -> None:
        verbs: list[Callable[[], None]] = [
            self.enqueue,
            self.claim,
            self.claim,
            self.complete,
            self.fail,
            self.snooze,
            self.release,
            self.renew,
            self.expire,
            self.cancel,
            self.finish,
            self.reschedule,
            self.redrive,
        ]
        for _ in range(STEPS):
            verb = self.source.choice(verbs)
            try:
                verb()
                self.codes[verb.__name__] += 1
            except psycopg.Error as error:
                self.codes[f"{verb.__name__} {error.sqlstate}"] += 1
                self.session.conn.rollback()

    def some(self) -> list[Any]:
        """Some held jobs, kept in hand half of the time: the next word about them comes too late."""
        chosen = self.source.sample(self.held, min(len(self.held), self.source.randint(1, 6)))
        if self.source.random() < 0.5:
            self.held = [row for row in self.held if row not in chosen]
        return chosen

    def enqueue(self) -> None:
        self.shared += self.produce()

    def produce(self) -> list[UUID]:
        batch: list[dict[str, Any]] = [
            {
                "kind": self.source.choice(KINDS),
                "payload": {},
                "priority": self.source.choice([0, 1]),
                "max_attempts": self.source.choice([1, 2, 9]),
                "key": self.source.choice([None, f"k{self.source.randint(0, 9)}"]),
                "scope": "active",
            }
            for _ in range(self.source.randint(1, 8))
        ]
        return [row.job_id for row in self.session.enqueue_many(batch)]

    def claim(self) -> None:
        kinds = self.source.sample(KINDS, self.source.randint(1, 3))
        self.held += self.session.claim(self.source.randint(1, 8), kinds=kinds, lease=0.1)

    def complete(self) -> None:
        self.session.complete(*self.some())

    def fail(self) -> None:
        chosen = self.some()
        self.session.fail(*chosen, delays=[self.source.choice([0.0, 0.01]) for _ in chosen])

    def snooze(self) -> None:
        chosen = self.some()
        self.session.snooze(*chosen, delays=[0.01 for _ in chosen])

    def release(self) -> None:
        self.session.release(*self.some())

    def renew(self) -> None:
        self.session.renew(*{row.token for row in self.some()}, lease=0.1)

    def expire(self) -> None:
        self.session.expire(self.source.randint(1, 5))

    def cancel(self) -> None:
        self.session.cancel(self.source.choice(self.shared))

    def finish(self) -> None:
        if chosen := self.some():
            with self.session.conn.transaction():
                made = self.produce()
                self.session.finish(chosen[0])
            self.shared += made

    def reschedule(self) -> None:
        query = "select windlass.reschedule_job(%s, %s, null, %s)"
        self.session.call(
            query, self.session.tenant, self.source.choice(self.shared), self.source.choice([0, 1])
        )

    def redrive(self) -> None:
        query = "select * from windlass.redrive_jobs(%s, p_limit => %s, p_everything => true)"
        self.session.call(query, self.session.tenant, self.source.randint(1, 5))


def drain(db: Database, jobs: Session) -> None:
    """Let everything that still waits or runs come to its end."""
    for _ in range(500):
        lapse(db)
        jobs.expire(10000)
        db.execute("update windlass_data.scheduled set run_at = '2000-01-01Z'", role="superuser")
        if not (rows := jobs.claim(1000)):
            return
        assert jobs.complete(*rows) == []
    raise AssertionError("there is always more to do")


def test_no_mix_of_verbs_deadlocks_or_loses_a_job(db: Database, jobs: Session) -> None:
    shared = [row.job_id for row in jobs.enqueue_many([{"kind": kind, "payload": {}} for kind in KINDS * 10])]
    players = [Player(Session(db.connect(), node=uuid4()), shared, SEED + n) for n in range(SESSIONS)]
    threads = [threading.Thread(target=player.play) for player in players]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    codes = sum((player.codes for player in players), Counter())
    expected = {"cancel WL004", "finish WL003", "reschedule WL004"}
    expected |= {f"{verb} {LOCK_TIMEOUT}" for verb in ("complete", "fail", "snooze", "release")}
    surprises = {code: n for code, n in codes.items() if " " in code and code not in expected}
    assert surprises == {}, f"seed {SEED}: {codes}"
    assert_whole(db, exact_leases=False, late_cancel=True)
    seal(db)
    audit = verify(db.connection(), limit=100)
    assert (audit.fault, audit.unsealed) == (None, 0), "the chain of what all of them did"
    drain(db, jobs)
    assert_whole(db, late_cancel=True)
    states = Counter(jobs.state(job_id) for job_id in set(shared))
    assert set(states) <= {"succeeded", "dead", "canceled"}
    assert states["succeeded"] > len(KINDS)
