"""Plays the life of jobs by random rules on the database and on the simulated core, and compares the two."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.simulation.core import Core
from tests.simulation.seen import core_row, real_rows
from tests.simulation.sqlwords import at_ms, moment, node_uuid
from tests.simulation.values import TERMINAL, Job, Refused, Said
from tests.sql.steps import DEFAULT_TENANT, Session, Word, refused
from tests.sql.wanted import KINDS, TENANTS, Wanted, choose, delays, new_jobs, picks
from tests.sql.whole import find_problems
from tests.support import Database

LEASE = 30_000
NODE = "0-0"
RETRY = {"base": 7, "factor": 2, "cap": None, "jitter": "none"}
LATE = ("complete", "skip", "fail", "time out", "give up", "snooze", "release")
OUTCOMES = {
    "fail": "failed",
    "time out": "timed_out",
    "give up": "canceled",
    "snooze": "snoozed",
    "release": "released",
}
TABLES = ("job", "attempt", "ready", "scheduled", "lease", "cancel_request", "idempotency_key")
LEDGER = ("cost", "cost_delta", "cost_day")


class Machine(RuleBasedStateMachine):
    """One database for all runs; each run begins with no job in it."""

    db: Database

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

    def both(self, model: Callable[[], Any], real: Callable[[], Any]) -> Any:
        """The core and the database give the same answer, or refuse for the same reason."""
        try:
            expected = model()
        except Refused as refusal:
            with refused(str(refusal)):
                real()
            return None
        answer = real()
        assert answer == expected
        return answer

    def held(self, numbers: Sequence[int]) -> list[Word]:
        running = [job for job in self.core.jobs.values() if self.core.state(job) == "running"]
        found = [(self.core.lease_on(job), job) for job in choose(running, numbers)]
        return [Word(lease.token, job.id) for lease, job in found if lease is not None]

    @initialize(wanted=st.lists(new_jobs, min_size=2, max_size=6))
    def begin(self, wanted: list[Wanted]) -> None:
        self.enqueue(wanted)

    @rule(wanted=st.lists(new_jobs, min_size=1, max_size=3))
    def enqueue(self, wanted: list[Wanted]) -> None:
        for one in wanted:
            self.enqueue_one(one)

    def enqueue_one(self, one: Wanted) -> None:
        job = Job(
            *(one.tenant, self.next_id(), one.kind, one.payload, "default", one.priority, one.max_attempts),
            *(self.core.now + one.after, one.key),
        )
        session = self.by_tenant[one.tenant]
        facts = {"id": job.id, "priority": one.priority, "max_attempts": one.max_attempts, "key": one.key}
        more = {"run_at": moment(job.run_at), "scope": one.scope, "retry": RETRY}
        self.both(
            lambda: self.core.enqueue(job, one.scope),
            lambda: tuple(session.enqueue_row(one.kind, one.payload, **facts, **more)),
        )

    @rule(limit=st.integers(1, 5), kinds=st.sampled_from([("a",), ("b",), KINDS, KINDS]))
    def claim(self, limit: int, kinds: tuple[str, ...]) -> None:
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

    def lines(self, kinds: tuple[str, ...]) -> list[list[Job]]:
        return [self.core.line(NODE, "default", kinds, tenant) for tenant in TENANTS]

    @rule(numbers=picks, verb=st.sampled_from(["fail", "time out", "fail"]), wait=delays)
    def work_in_vain(self, numbers: list[int], verb: str, wait: int | None) -> None:
        self.claim(5, KINDS)
        self.end(numbers, verb, wait)

    @rule()
    def lose_every_worker(self) -> None:
        self.claim(5, KINDS)
        self.let_time_pass(40)
        self.expire()

    @rule(numbers=picks, verb=st.sampled_from(["complete", "skip"]), cost=st.sampled_from([None, 3]))
    def complete(self, numbers: list[int], verb: str, cost: int | None) -> None:
        self.say(verb, self.held(numbers), cost=cost)

    @rule(
        numbers=picks,
        verb=st.sampled_from(["fail", "time out", "give up", "snooze", "release"]),
        wait=delays,
    )
    def end(self, numbers: list[int], verb: str, wait: int | None) -> None:
        self.say(verb, self.held(numbers), wait)

    @precondition(lambda self: self.given)
    @rule(numbers=picks, verb=st.sampled_from(LATE))
    def come_too_late(self, numbers: list[int], verb: str) -> None:
        """Words with tokens that may have held their job only once."""
        self.say(verb, choose(self.given, numbers), 1_000)

    def say(self, verb: str, words: list[Word], wait: int | None = None, cost: int | None = None) -> None:
        if not words:
            return
        if verb in ("complete", "skip"):
            self.say_done("skipped" if verb == "skip" else "succeeded", words, cost)
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

    def say_done(self, state: str, words: list[Word], cost: int | None) -> None:
        results = [str(number) for number in range(len(words))]
        pairs, states = [(word.token, word.job_id) for word in words], [state] * len(words)
        refused_words = self.core.complete(pairs, states, results)
        costs = [cost] * len(words)
        assert self.worker.complete(*words, results=results, costs=costs, states=states) == refused_words
        for word in words:
            if (word.job_id, "lease_lost") not in refused_words:
                self.core.jobs[word.job_id].cost += cost or 0

    @rule(numbers=picks)
    def cost(self, numbers: list[int]) -> None:
        words = self.held(numbers)
        assert self.worker.cost(*((word, 4, "x") for word in words)) == ["ok"] * len(words)
        for word in words:
            self.core.jobs[word.job_id].cost += 4

    @precondition(lambda self: self.given)
    @rule(number=st.integers(0, 99), again=st.booleans())
    def finish(self, number: int, again: bool) -> None:
        """In a transaction of its own, and then the worker's report of it."""
        (word,) = (self.held([number]) if not again else []) or choose(self.given, [number])
        self.both(
            lambda: self.core.finish(word.token, word.job_id, "finished"),
            lambda: self.worker.finish(word, "finished"),
        )
        tenant, result = self.core.jobs[word.job_id].tenant, ["late"]
        self.both(
            lambda: self.core.complete([(word.token, word.job_id)], ["succeeded"], result, [tenant]),
            lambda: self.worker.complete(word, results=result, tenants=[tenant]),
        )

    @precondition(lambda self: self.given)
    @rule(numbers=picks)
    def renew(self, numbers: list[int]) -> None:
        tokens = list({word.token: word.token for word in choose(self.given, numbers)})
        expected = self.core.renew(tokens, LEASE)
        assert sorted(self.worker.renew(*tokens, lease=LEASE / 1000), key=str) == sorted(expected, key=str)

    @rule(seconds=st.sampled_from([1, 8, 40]))
    def let_time_pass(self, seconds: int) -> None:
        self.core.now += seconds * 1000
        at = moment(self.core.now)
        self.db.execute("update public.stopped_clock set at = %s", at, role="superuser")

    @rule()
    def expire(self) -> None:
        assert self.worker.expire() == self.core.expire()

    @precondition(lambda self: len(self.core.of("queued", "running")) > 2)
    @rule(number=st.integers(0, 99))
    def cancel(self, number: int) -> None:
        (job,) = choose(list(self.core.jobs.values()), [number])
        session = self.by_tenant[job.tenant]
        self.both(lambda: self.core.cancel(job.tenant, job.id), lambda: session.cancel(job.id))

    @precondition(lambda self: self.core.of("queued"))
    @rule(
        number=st.integers(0, 99),
        after=st.sampled_from([None, -5, 20]),
        priority=st.sampled_from([None, 0, 1]),
    )
    def reschedule(self, number: int, after: int | None, priority: int | None) -> None:
        (job,) = choose(list(self.core.jobs.values()), [number])
        session, run_at = self.by_tenant[job.tenant], None if after is None else self.core.now + after * 1000
        query = "select windlass.reschedule_job(%s, %s, %s, %s)"
        self.both(
            lambda: self.core.reschedule(job.tenant, job.id, run_at, priority),
            lambda: at_ms(session.value(query, job.tenant, job.id, moment(run_at), priority)),
        )

    @precondition(lambda self: self.core.of(*TERMINAL))
    @rule(number=st.integers(0, 99))
    def redrive(self, number: int) -> None:
        (job,) = choose(self.core.of("dead") or self.core.of(*TERMINAL), [number])
        query, session = "select job_id from windlass.redrive_jobs(%s, %s)", self.by_tenant[job.tenant]
        self.both(
            lambda: self.core.redrive(job.tenant, job.id),
            lambda: session.value(query, job.tenant, [job.id]),
        )

    @precondition(lambda self: self.core.of("running"))
    @rule(numbers=picks)
    def think_better_of_it(self, numbers: list[int]) -> None:
        """A transaction that is rolled back has said nothing."""
        words = self.held(numbers)
        with self.worker.conn.transaction(force_rollback=True):
            self.worker.enqueue("a")
            self.worker.fail(words[0], delays=[0])
            self.worker.complete(*words[1:])
            self.worker.claim(3, kinds=KINDS)

    @invariant()
    def the_database_agrees(self) -> None:
        for tenant in TENANTS:
            expected = {
                job.id: core_row(self.core, job) for job in self.core.jobs.values() if job.tenant == tenant
            }
            assert real_rows(self.db.connection("superuser"), tenant, list(expected)) == expected

    @invariant()
    def every_job_is_in_one_place(self) -> None:
        assert find_problems(self.db, late_cancel=True) == []
