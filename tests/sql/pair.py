"""The database and the simulated core, to which the same is said: each must answer as the other does."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from tests.simulation.core import Core
from tests.simulation.sqlwords import at_ms, moment, node_uuid
from tests.simulation.values import Job, Refused, Said
from tests.sql.steps import DEFAULT_TENANT, Session, Word, refused
from tests.sql.wanted import ANY_JOB, KINDS, OUTCOMES, TENANTS, Wanted, choose
from tests.support import Database

__all__ = ["LEASE", "Pair"]

LEASE = 30_000
NODE = "0-0"
RETRY = {"base": 7, "factor": 2, "cap": None, "jitter": "none"}
TABLES = ("job", "attempt", "ready", "scheduled", "lease", "cancel_request", "idempotency_key", "busy_lane")
LEDGER = ("cost", "cost_delta", "cost_day")


class Pair:
    """Both as one life of jobs finds them: empty."""

    db: Database
    heard: Counter[str]
    """Over all runs: how often each verb was accepted, so that a machine that says nothing shows."""
    unheard: Counter[str]
    """And how often it was refused."""

    def __init__(self) -> None:
        super().__init__()
        self.core = Core()
        self.numbers = itertools.count(1)
        self.given: list[Word] = []
        node = node_uuid(NODE)
        self.by_tenant = {tenant: Session(self.db.connection(), tenant, node) for tenant in TENANTS}
        self.worker = self.by_tenant[DEFAULT_TENANT]
        superuser = self.db.connection("superuser")
        for table in (*TABLES, *LEDGER):
            superuser.execute(f"delete from windlass_data.{table}".encode())
        superuser.execute("update public.stopped_clock set at = %s", [moment(0)])

    def next_id(self) -> UUID:
        """The same ids in every run, so that a failure can be played again."""
        return UUID(f"01900000-0000-7000-8000-{next(self.numbers):012x}")

    def count(self, verb: str, heard: int, said: int) -> None:
        self.heard[verb] += heard
        self.unheard[verb] += said - heard

    def both(self, verb: str, model: Callable[[], Any], real: Callable[[], Any]) -> Any:
        """The core and the database give the same answer, or refuse for the same reason."""
        try:
            expected = model()
        except Refused as refusal:
            with refused(str(refusal)):
                real()
            self.count(verb, 0, 1)
            return None
        answer = real()
        assert answer == expected
        self.count(verb, 1, 1)
        return answer

    def held(self, numbers: Sequence[int]) -> list[Word]:
        """Some of the jobs that run; where none does, one is begun, for chance would seldom find any."""
        if not self.core.of("running"):
            self.go_to_work()
        found = [(self.core.lease_on(job), job) for job in choose(self.core.of("running"), numbers)]
        return [Word(lease.token, job.id) for lease, job in found if lease is not None]

    def go_to_work(self) -> None:
        if not self.core.of("queued"):
            self.enqueue_one(ANY_JOB)
        if not any(self.lines(KINDS)):
            self.move_clock(min(self.core.scheduled.values()))
        self.claim_some(5, KINDS)

    def move_clock(self, until: int) -> None:
        self.core.now = max(until, self.core.now)
        at = moment(self.core.now)
        self.db.execute("update public.stopped_clock set at = %s", at, role="superuser")

    def enqueue_one(self, one: Wanted) -> None:
        job = Job(
            *(one.tenant, self.next_id(), one.kind, one.payload, "default", one.priority, one.max_attempts),
            *(self.core.now + one.after, one.key),
        )
        session = self.by_tenant[one.tenant]
        facts = {"id": job.id, "priority": one.priority, "max_attempts": one.max_attempts, "key": one.key}
        more = {"run_at": moment(job.run_at), "scope": one.scope, "retry": RETRY}
        self.both(
            "enqueue",
            lambda: self.core.enqueue(job, one.scope),
            lambda: tuple(session.enqueue_row(one.kind, one.payload, **facts, **more)),
        )

    def claim_some(self, limit: int, kinds: tuple[str, ...]) -> None:
        """Whose turn it is among the tenants, chance decides; everything else is certain."""
        self.core.promote()
        lines = self.lines(kinds)
        if not any(lines):
            self.core.expire()
            lines = self.lines(kinds)
        rows = self.worker.claim(limit, kinds=kinds, lease=LEASE / 1000)
        assert len(rows) == min(limit, sum(map(len, lines)))
        taken = [[row.job_id for row in rows if row.tenant_id == tenant] for tenant in TENANTS]
        for ids, line in zip(taken, lines, strict=True):
            assert ids == [job.id for job in line[: len(ids)]], "not in order"
        for ids, line, others in ((taken[0], lines[0], taken[1]), (taken[1], lines[1], taken[0])):
            assert len(ids) == len(line) or len(ids) >= len(others) - 1, "not in turn"
        jobs, tokens = [self.core.jobs[row.job_id] for row in rows], [row.token for row in rows]
        given = [
            (r.job_id, r.token, r.version, r.counted, r.payload, r.priority, at_ms(r.expires_at))
            for r in rows
        ]
        assert given == self.core.take(NODE, jobs, LEASE, tokens)
        self.given += [Word(row.token, row.job_id) for row in rows]
        self.count("claim", len(rows), len(rows))
        self.heard["claim again"] += sum(row.version > 1 for row in rows)
        self.heard["claim of both tenants"] += all(taken)
        self.heard["claim beside a lease"] += len(self.core.leases) > len(set(tokens))

    def lines(self, kinds: tuple[str, ...]) -> list[list[Job]]:
        return [self.core.line(NODE, "default", kinds, tenant) for tenant in TENANTS]

    def say(self, verb: str, words: list[Word], wait: int | None = None, cost: int | None = None) -> None:
        if verb in ("complete", "skip"):
            self.say_done(verb, words, cost)
            return
        error = {"type": verb} if verb not in ("snooze", "release") else None
        if verb in ("snooze", "release"):
            wait = (wait or 0) if verb == "snooze" else None
        said = [Said(w.token, w.job_id, OUTCOMES[verb], wait, error and verb) for w in words]
        waits = [None if wait is None else wait / 1000] * len(words)
        errors, outcomes = [error] * len(words), [OUTCOMES[verb]] * len(words)
        rows = {
            "snooze": lambda: self.worker.snooze(*words, delays=waits),
            "release": lambda: self.worker.release(*words),
        }.get(verb, lambda: self.worker.fail(*words, errors=errors, outcomes=outcomes, delays=waits))()
        assert [(row.job_id, row.code, row.state, at_ms(row.run_at)) for row in rows] == self.core.end(said)
        self.count(verb, sum(row.code == "ok" for row in rows), len(words))

    def say_done(self, verb: str, words: list[Word], cost: int | None) -> None:
        state = "skipped" if verb == "skip" else "succeeded"
        results = [str(number) for number in range(len(words))]
        pairs, states = [(word.token, word.job_id) for word in words], [state] * len(words)
        refused_words = self.core.complete(pairs, states, results)
        costs = [cost] * len(words)
        assert self.worker.complete(*words, results=results, costs=costs, states=states) == refused_words
        self.count(verb, len(words) - len(refused_words), len(words))
        for word in words:
            if (word.job_id, "lease_lost") not in refused_words:
                self.core.jobs[word.job_id].cost += cost or 0
