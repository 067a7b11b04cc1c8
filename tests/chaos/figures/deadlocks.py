"""Sixteen sessions that use every verb at once, on few jobs."""

import threading
import time
from collections import Counter
from typing import Any

import psycopg
from psycopg.rows import namedtuple_row

from tests.chaos.figures.mixer import PAST_DAYS, Mixer, World
from tests.chaos.figures.table import Figure, Setting
from tests.chaos.figures.verbs import BOUND_ROLE, VERBS, WEIGHTS
from tests.chaos.postgres import Postgres
from tests.chaos.site import Site

__all__ = ["deadlocks"]

SESSIONS = 16
# The log tells in full who waited for whom.
SETTINGS = {"log_error_verbosity": "default", "log_min_error_statement": "error"}
# What a caller is told to say again, and what is answered to a word about somebody else's job.
EXPECTED = frozenset({"55P03", "WL001", "WL002", "WL003", "WL004", "WL006", "WL008"})
ENOUGH = 10_000
"""Statements after which every verb should have done its work at least once."""

_DAYS = """
select count(*) filter (where c.relname < to_char(now(), '"job_"YYYYMMDD')),
       count(*) filter (where c.relname > to_char(now() + interval '3 days', '"job_"YYYYMMDD'))
from pg_class as c where c.relkind = 'r' and c.relname ~ '^job_[0-9]{8}$'
"""

Tally = Counter[tuple[str, str]]
"""How often a verb was answered so: `ok`, or the code of the error."""


class Session:
    """One caller on one connection."""

    def __init__(self, server: Postgres, mixer: Mixer, tally: Tally) -> None:
        self._server = server
        self._mixer = mixer
        self._tally = tally

    def work(self, until: float) -> None:
        names, weights = list(WEIGHTS), list(WEIGHTS.values())
        with self._server.connect("windlass_app", row_factory=namedtuple_row) as connection:
            while time.monotonic() < until:
                (name,) = self._mixer.random.choices(names, weights)
                self._say(connection, name)

    def _say(self, connection: psycopg.Connection[Any], name: str) -> None:
        text, said = VERBS[name](self._mixer)
        try:
            rows = connection.execute(text.encode(), said).fetchall()
        except psycopg.Error as error:
            self._tally[name, str(error.sqlstate)] += 1
        else:
            self._tally[name, "ok"] += 1
            self._mixer.learn(name, said, rows)


def deadlocks(setting: Setting) -> list[Figure]:
    """16 sessions for 5 minutes: no caller is told of a deadlock, and the server's log has none.

    Words wait half a second for a lock, and the server looks for a cycle after a whole one: so one more
    minute is spent with a server that looks sooner.  Not at once: whoever makes or drops the
    tables of a day asks for them against the order of the others, and lets go by himself after 50 ms each.
    """
    told, first = _mix(setting, "deadlocks, every verb mixed", 300 * setting.scale, "1s")
    soon, second = _mix(setting, "the same, looked for after 200 ms", 60 * setting.scale, "200ms")
    total = first + second
    strange = {
        f"{name} {code}": number
        for (name, code), number in total.items()
        if code not in EXPECTED | {"ok", "40P01"}
    }
    idle = [name for name in VERBS if not total[name, "ok"]] if total.total() > ENOUGH else []
    done = f"{len(VERBS) - len(idle)} of {len(VERBS)}" + (f", not {', '.join(idle)}" if idle else "")
    return [
        told,
        soon,
        Figure("errors without a code of ours", "0", str(strange or 0), not strange, strange),
        Figure("verbs that did their work", "all", done, not idle, _by_verb(total)),
    ]


def _by_verb(total: Tally) -> dict[str, dict[str, int]]:
    return {name: {code: n for (verb, code), n in total.items() if verb == name} for name in VERBS}


def _mix(setting: Setting, name: str, seconds: float, timeout: str) -> tuple[Figure, Tally]:
    tallies: list[Tally] = [Counter() for _ in range(SESSIONS)]
    settings = {**SETTINGS, "deadlock_timeout": timeout}
    with Site(setting.directory / timeout, workers=0, major=setting.major, settings=settings) as site:
        site.primary.ask(f"create role {BOUND_ROLE}")
        for age in PAST_DAYS:
            site.primary.ask("select windlass_data.add_day(current_date - %s)", age, role="windlass_owner")
        world, until = World(site.tenants), time.monotonic() + seconds
        sessions = [Session(site.primary, Mixer(world, n), tally) for n, tally in enumerate(tallies)]
        threads = [threading.Thread(target=session.work, args=[until]) for session in sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        log = site.primary.told(" 40P01 ")
        days = site.primary.ask(_DAYS)[0]
    total = sum(tallies, Counter[tuple[str, str]]())
    logged = sum(" 40P01 ERROR" in entry for entry in log)
    told = sum(number for (_, code), number in total.items() if code == "40P01")
    facts = {"statements": total.total(), "past days left": days[0], "days made ahead": days[1], "log": log}
    seen = f"{told} told, {logged} logged, in {total.total():,} statements of {SESSIONS} sessions"
    return Figure(name, "0", seen, not logged and not told, facts), total
