"""Sixteen sessions that use every verb at once, on few jobs."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg.rows import namedtuple_row

from tests.chaos.figures.table import Figure, Setting
from tests.chaos.site import Site

__all__ = ["deadlocks"]

SESSIONS = 16
# The log tells in full who waited for whom.
SETTINGS = {"log_error_verbosity": "default", "log_min_error_statement": "error"}
BATCH = 50
# What a caller is told to say again, and what a word about another's job is answered with.
EXPECTED = frozenset({"55P03", "WL001", "WL002", "WL003", "WL004", "WL006"})


class Session:
    """One caller: it knows some jobs and some tokens, its own and others', and mixes them."""

    def __init__(self, site: Site, seed: int, shared: list[Any], tally: "Counter[str]") -> None:
        self._site = site
        self._random = random.Random(seed)
        self._shared = shared
        self._tally = tally
        self._node = uuid4()
        self._verbs: list[Callable[[], tuple[str, list[Any]]]] = [
            *[self._claim] * 4,
            *[self._complete] * 3,
            *[self._enqueue] * 3,
            *(self._fail, self._snooze, self._release, self._renew, self._expire),
            *(self._cancel, self._reschedule, self._redrive, self._finish, self._maintain),
        ]

    def work(self, until: float) -> None:
        with self._site.primary.connect("windlass_app", row_factory=namedtuple_row) as connection:
            while time.monotonic() < until:
                self._step(connection)

    def _step(self, connection: psycopg.Connection[Any]) -> None:
        verb = self._random.choice(self._verbs)
        text, values = verb()
        try:
            rows = connection.execute(text.encode(), values).fetchall()
        except psycopg.Error as error:
            self._tally[str(error.sqlstate)] += 1
        else:
            self._tally["statements"] += 1
            if verb == self._claim:
                self._shared += [(row.tenant_id, row.job_id, row.token) for row in rows]
                del self._shared[:-2_000]

    def _some(self) -> tuple[list[UUID], list[UUID], list[UUID]]:
        known = self._shared[-400:]
        chosen = self._random.sample(known, min(len(known), self._random.randint(1, BATCH)))
        tenants, jobs, tokens = zip(*chosen, strict=True) if chosen else ((), (), ())
        return list(tenants), list(jobs), list(tokens)

    def _one(self) -> tuple[UUID, UUID, UUID]:
        known = self._shared[-400:]
        return self._random.choice(known) if known else (self._site.tenants[0], uuid4(), uuid4())

    def _enqueue(self) -> tuple[str, list[Any]]:
        jobs = [self._new_job() for _ in range(self._random.randint(1, BATCH))]
        tenant = self._random.choice(self._site.tenants)
        return "select job_id from windlass.enqueue_jobs(%s, %s)", [tenant, json.dumps(jobs)]

    def _new_job(self) -> dict[str, Any]:
        if self._random.random() < 0.5:
            return {"kind": "k1", "payload": {}, "max_attempts": 3}
        key = str(self._random.randint(1, 300))
        return {"kind": f"k{self._random.randint(1, 3)}", "payload": {}, "key": key, "scope": "active"}

    def _claim(self) -> tuple[str, list[Any]]:
        lease = self._random.choice((0.1, 0.5, 5.0))
        text = "select * from windlass.claim_jobs(%s, array['default'], null, %s, %s)"
        return text, [self._node, self._random.randint(1, BATCH), lease]

    def _complete(self) -> tuple[str, list[Any]]:
        _, jobs, tokens = self._some()
        return "select code from windlass.complete_jobs(%s::uuid[], %s::uuid[])", [tokens, jobs]

    def _fail(self) -> tuple[str, list[Any]]:
        _, jobs, tokens = self._some()
        delays = [self._random.choice((0.0, 0.1)) for _ in jobs]
        text = "select code from windlass.fail_jobs(%s::uuid[], %s::uuid[], null, null, %s::float8[])"
        return text, [tokens, jobs, delays]

    def _snooze(self) -> tuple[str, list[Any]]:
        _, jobs, tokens = self._some()
        text = "select code from windlass.snooze_jobs(%s::uuid[], %s::uuid[], %s::float8[])"
        return text, [tokens, jobs, [0.1 for _ in jobs]]

    def _release(self) -> tuple[str, list[Any]]:
        _, jobs, tokens = self._some()
        return "select code from windlass.release_jobs(%s::uuid[], %s::uuid[])", [tokens, jobs]

    def _renew(self) -> tuple[str, list[Any]]:
        return "select code from windlass.renew_leases(%s::uuid[], 1)", [self._some()[2]]

    def _expire(self) -> tuple[str, list[Any]]:
        return "select job_id from windlass.expire_leases(%s)", [self._random.randint(1, 100)]

    def _cancel(self) -> tuple[str, list[Any]]:
        return "select windlass.cancel_job(%s, %s)", list(self._one()[:2])

    def _reschedule(self) -> tuple[str, list[Any]]:
        soon = self._random.choice(("now()", "now() + interval '0.2 s'"))
        return f"select windlass.reschedule_job(%s, %s, {soon})", list(self._one()[:2])

    def _redrive(self) -> tuple[str, list[Any]]:
        text = "select job_id from windlass.redrive_jobs(%s, p_limit => 20)"
        return text, [self._random.choice(self._site.tenants)]

    def _finish(self) -> tuple[str, list[Any]]:
        _, job, token = self._one()
        return "select windlass.finish_job(%s, %s)", [token, job]

    def _maintain(self) -> tuple[str, list[Any]]:
        return "select * from windlass.maintain()", []


def deadlocks(setting: Setting) -> list[Figure]:
    """16 sessions for 5 minutes: no caller is told of a deadlock, and the server's log has none.

    Words wait half a second for a lock, and the server looks for a cycle after a whole one: so one more
    minute is spent with a server that looks at once.
    """
    told, strange = _mix(setting, "deadlocks, every verb mixed", 300 * setting.scale, "1s")
    soon, more = _mix(setting, "the same, looked for after 20 ms", 60 * setting.scale, "20ms")
    codes = {**strange, **more}
    return [told, soon, Figure("errors without a code of ours", "0", str(codes or 0), not codes, codes)]


def _mix(setting: Setting, name: str, seconds: float, timeout: str) -> tuple[Figure, dict[str, int]]:
    shared: list[Any] = []
    tallies: list[Counter[str]] = [Counter() for _ in range(SESSIONS)]
    settings = {**SETTINGS, "deadlock_timeout": timeout}
    with Site(setting.directory / timeout, workers=0, major=setting.major, settings=settings) as site:
        until = time.monotonic() + seconds
        sessions = [Session(site, number, shared, tally) for number, tally in enumerate(tallies)]
        threads = [threading.Thread(target=session.work, args=[until]) for session in sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        logged = site.primary.logged(" 40P01 ERROR")
    total = sum(tallies, Counter[str]())
    statements = total.pop("statements", 0)
    strange = {code: number for code, number in total.items() if code not in EXPECTED and code != "40P01"}
    seen = f"{total['40P01']} told, {logged} logged, in {statements:,} statements of {SESSIONS} sessions"
    return Figure(name, "0", seen, not logged and not total["40P01"], dict(total)), strange
