"""Plays the life of jobs by random rules on the database and on the model, and compares the two."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.sql.model import BASE_SECONDS, TERMINAL, Model, ModelJob, Refused, check
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, Session, Word, refused
from tests.sql.whole import find_problems
from tests.support import Database

START = datetime(2030, 1, 1, tzinfo=UTC)
TENANTS = (DEFAULT_TENANT, OTHER_TENANT)
KINDS = ("a", "b")
LEASE = 30
RETRY = {"base": BASE_SECONDS, "factor": 2, "cap": None, "jitter": "none"}

picks = st.lists(st.integers(0, 99), min_size=1, max_size=4)
delays = st.sampled_from([None, 0.0, 5.0, 50.0])
LATE = ("complete", "skip", "fail", "time out", "snooze", "release")
TABLES = ("job", "attempt", "ready", "scheduled", "lease", "cancel_request", "idempotency_key")
LEDGER = ("cost", "cost_delta", "cost_day")


class Said(NamedTuple):
    code: str


@dataclass(frozen=True)
class Wanted:
    """A job as somebody may want it."""

    tenant: UUID
    kind: str
    priority: int
    max_attempts: int
    after: int
    key: str | None
    scope: str
    payload: int


new_jobs = st.builds(
    Wanted,
    tenant=st.sampled_from(TENANTS),
    kind=st.sampled_from(KINDS),
    priority=st.integers(0, 1),
    max_attempts=st.integers(1, 3),
    after=st.sampled_from([0, 0, 0, 10, 100]),
    key=st.sampled_from([None, None, "x", "y"]),
    scope=st.sampled_from(["forever", "active"]),
    payload=st.sampled_from([1, 1, 1, 2]),
)


def choose(items: Sequence[Any], numbers: Sequence[int]) -> list[Any]:
    """Some of the items, each at most once."""
    return list({number % len(items): items[number % len(items)] for number in numbers}.values())


class Machine(RuleBasedStateMachine):
    """One database for all runs; each run begins with no job in it."""

    db: Database

    def __init__(self) -> None:
        super().__init__()
        self.model = Model(START)
        self.numbers = itertools.count(1)
        self.by_tenant = {tenant: Session(self.db.connection(), tenant) for tenant in TENANTS}
        self.worker = self.by_tenant[DEFAULT_TENANT]
        superuser = self.db.connection("superuser")
        for table in (*TABLES, *LEDGER):
            superuser.execute(f"delete from windlass_data.{table}".encode())
        superuser.execute("update public.stopped_clock set at = %s", [START])

    def next_id(self) -> UUID:
        """The same ids in every run, so that a failure can be played again."""
        return UUID(f"01900000-0000-7000-8000-{next(self.numbers):012x}")

    def say(self, verb: str, words: Sequence[Word], **more: Any) -> list[str]:
        """One code per word, whichever verb says it."""
        if verb in ("complete", "skip"):
            states = ["skipped" if verb == "skip" else "succeeded"] * len(words)
            lost = self.worker.complete(*words, states=states, **more)
            return ["lease_lost" if (word.job_id, "lease_lost") in lost else "ok" for word in words]
        rows = {
            "fail": lambda: self.worker.fail(*words, **more),
            "time out": lambda: self.worker.fail(*words, outcomes=["timed_out"] * len(words), **more),
            "give up": lambda: self.worker.fail(*words, outcomes=["canceled"] * len(words), **more),
            "snooze": lambda: self.worker.snooze(*words, **more),
            "release": lambda: self.worker.release(*words),
            "cost": lambda: [Said(code) for code in self.worker.cost(*((word, 4, "x") for word in words))],
        }[verb]()
        return [row.code for row in rows]

    def held(self, numbers: Sequence[int]) -> tuple[list[ModelJob], list[Word]]:
        running = choose(self.model.of("running"), numbers)
        return running, [Word(job.token, job.id) for job in running]

    @initialize(wanted=st.lists(new_jobs, min_size=2, max_size=6))
    def begin(self, wanted: list[Wanted]) -> None:
        self.enqueue(wanted)

    @rule(wanted=st.lists(new_jobs, min_size=1, max_size=3))
    def enqueue(self, wanted: list[Wanted]) -> None:
        for job in wanted:
            self.enqueue_one(job)

    def enqueue_one(self, wanted: Wanted) -> None:
        tenant, kind, payload = wanted.tenant, wanted.kind, wanted.payload
        fields: dict[str, Any] = {
            "priority": wanted.priority,
            "max_attempts": wanted.max_attempts,
            "run_at": self.model.now + timedelta(seconds=wanted.after),
            "key": wanted.key,
        }
        try:
            duplicate = self.model.find_duplicate(tenant, kind, wanted.key, wanted.scope, payload)
        except Refused as refusal:
            with refused(str(refusal)):
                self.by_tenant[tenant].enqueue(kind, payload, scope=wanted.scope, **fields)
            return
        fields["id"] = self.next_id()
        row = self.by_tenant[tenant].enqueue_row(kind, payload, scope=wanted.scope, retry=RETRY, **fields)
        if duplicate is not None:
            assert tuple(row) == (duplicate.id, False)
        else:
            assert row.created
            self.model.enqueue(ModelJob(tenant=tenant, kind=kind, payload=payload, **fields))

    @rule(limit=st.integers(1, 5), kinds=st.sampled_from([("a",), ("b",), KINDS, KINDS]))
    def claim(self, limit: int, kinds: tuple[str, ...]) -> None:
        self.model.promote()
        lines = [self.model.line(tenant, kinds) for tenant in TENANTS]
        if not any(lines):
            self.model.expire()
            lines = [self.model.line(tenant, kinds) for tenant in TENANTS]
        rows = self.worker.claim(limit, kinds=kinds, lease=LEASE)
        assert len(rows) == min(limit, sum(map(len, lines)))
        taken = [[row.job_id for row in rows if row.tenant_id == tenant] for tenant in TENANTS]
        for ids, line in zip(taken, lines, strict=True):
            assert ids == [job.id for job in line[: len(ids)]], "not in order"
        for ids, line, others in ((taken[0], lines[0], taken[1]), (taken[1], lines[1], taken[0])):
            assert len(ids) == len(line) or len(ids) >= len(others) - 1, "not in turn"
        for row in rows:
            job = self.model.jobs[row.tenant_id, row.job_id]
            self.model.claim(job, row.token, self.model.now + timedelta(seconds=LEASE))
            assert (row.version, row.counted, row.payload) == (job.version, job.counted, job.payload)

    @rule(numbers=picks, verb=st.sampled_from(["fail", "time out", "fail"]), wait=delays)
    def work_in_vain(self, numbers: list[int], verb: str, wait: float | None) -> None:
        self.claim(5, KINDS)
        if self.model.of("running"):
            self.fail(numbers, verb, wait)

    @rule()
    def lose_every_worker(self) -> None:
        self.claim(5, KINDS)
        self.let_time_pass(40)
        self.expire()

    @precondition(lambda self: self.model.of("running"))
    @rule(numbers=picks, verb=st.sampled_from(["complete", "skip"]), cost=st.sampled_from([None, 3]))
    def complete(self, numbers: list[int], verb: str, cost: int | None) -> None:
        running, words = self.held(numbers)
        results = [str(job.version) for job in running]
        codes = self.say(verb, words, results=results, costs=[cost] * len(words))
        assert codes == ["ok"] * len(words)
        for job, result in zip(running, results, strict=True):
            job.cost += cost or 0
            self.model.end(job, "skipped" if verb == "skip" else "succeeded", result=result)

    @precondition(lambda self: self.model.of("running"))
    @rule(numbers=picks)
    def cost(self, numbers: list[int]) -> None:
        running, words = self.held(numbers)
        assert self.say("cost", words) == ["ok"] * len(words)
        for job in running:
            job.cost += 4

    @precondition(lambda self: self.model.of("running"))
    @rule(number=st.integers(0, 99))
    def finish(self, number: int) -> None:
        """In a transaction of its own, and then the worker's report of it."""
        (job,), (word,) = self.held([number])
        self.worker.finish(word, "finished")
        assert self.worker.complete(word, tenants=[job.tenant]) == []
        self.model.end(job, "succeeded", result="finished")

    @precondition(lambda self: self.model.of("running"))
    @rule(numbers=picks, verb=st.sampled_from(["fail", "time out", "give up"]), wait=delays)
    def fail(self, numbers: list[int], verb: str, wait: float | None) -> None:
        running, words = self.held(numbers)
        error = {"message": verb}
        codes = self.say(verb, words, errors=[error] * len(words), delays=[wait] * len(words))
        assert codes == ["ok"] * len(words)
        outcome = {"fail": "failed", "time out": "timed_out", "give up": "canceled"}[verb]
        for job in running:
            self.model.end(job, outcome, wait=wait, error=error)

    @precondition(lambda self: self.model.of("running"))
    @rule(numbers=picks, verb=st.sampled_from(["snooze", "release"]), wait=delays)
    def give_back(self, numbers: list[int], verb: str, wait: float | None) -> None:
        running, words = self.held(numbers)
        more = {"delays": [wait or 0.0] * len(words)} if verb == "snooze" else {}
        assert self.say(verb, words, **more) == ["ok"] * len(words)
        for job in running:
            self.model.end(job, f"{verb}d", wait=wait if verb == "snooze" else 0.0)

    @precondition(lambda self: self.model.spent)
    @rule(numbers=picks, verb=st.sampled_from([*LATE, "cost"]))
    def come_too_late(self, numbers: list[int], verb: str) -> None:
        """Words with tokens that held their job once."""
        words = [Word(token, job_id) for _, job_id, token in choose(self.model.spent, numbers)]
        more = {"delays": [1.0] * len(words)} if verb == "snooze" else {}
        assert self.say(verb, words, **more) == ["lease_lost"] * len(words)
        with refused("WL003"):
            self.worker.finish(words[0])

    @precondition(lambda self: self.model.leases)
    @rule(numbers=picks)
    def renew(self, numbers: list[int]) -> None:
        tokens = choose(list(self.model.leases), numbers)
        told = self.worker.renew(*tokens, lease=LEASE)
        lost = {token for token in tokens if not self.model.holds(token)}
        stop = {(job.token, job.id) for job in self.model.of("running") if job.cancel_requested}
        assert {token for token, _, code in told if code == "lease_lost"} == lost
        expected = {(token, job_id) for token, job_id in stop if token in tokens}
        assert {(token, job_id) for token, job_id, code in told if code == "cancel_requested"} == expected
        for token in set(tokens) - lost:
            self.model.leases[token] = self.model.now + timedelta(seconds=LEASE)

    @rule(seconds=st.sampled_from([1, 8, 40]))
    def let_time_pass(self, seconds: int) -> None:
        self.model.now += timedelta(seconds=seconds)
        self.db.execute("update public.stopped_clock set at = %s", self.model.now, role="superuser")

    @rule()
    def expire(self) -> None:
        moved = self.model.expire()
        assert self.worker.expire() == [(job.id, job.state) for job in moved]

    @precondition(lambda self: len(self.model.of("queued", "running")) > 2)
    @rule(number=st.integers(0, 99))
    def cancel(self, number: int) -> None:
        (job,) = choose(list(self.model.jobs.values()), [number])
        session = self.by_tenant[job.tenant]
        try:
            state = self.model.cancel(job)
        except Refused as refusal:
            with refused(str(refusal)):
                session.cancel(job.id)
        else:
            assert session.cancel(job.id) == state

    @precondition(lambda self: self.model.of(*TERMINAL))
    @rule(number=st.integers(0, 99))
    def redrive(self, number: int) -> None:
        (job,) = choose(self.model.of("dead") or self.model.of(*TERMINAL), [number])
        query = "select job_id from windlass.redrive_jobs(%s, %s)"
        session = self.by_tenant[job.tenant]
        try:
            self.model.redrive(job)
        except Refused as refusal:
            with refused(str(refusal)):
                session.call(query, job.tenant, [job.id])
        else:
            assert session.value(query, job.tenant, [job.id]) == job.id

    @precondition(lambda self: self.model.of("running"))
    @rule(numbers=picks)
    def think_better_of_it(self, numbers: list[int]) -> None:
        """A transaction that is rolled back has said nothing."""
        _, words = self.held(numbers)
        with self.worker.conn.transaction(force_rollback=True):
            self.worker.enqueue("a")
            self.worker.fail(words[0], delays=[0])
            self.worker.complete(*words[1:])
            self.worker.claim(3, kinds=KINDS)

    @invariant()
    def the_database_agrees(self) -> None:
        """Asked as get_job asks, but for all jobs of a tenant at once."""
        for tenant in self.by_tenant:
            jobs = {job.id: job for job in self.model.jobs.values() if job.tenant == tenant}
            rows = self.db.fetch(
                "select * from windlass._describe_jobs(%s, %s)", tenant, list(jobs), role="superuser"
            )
            assert sorted(row.id for row in rows) == sorted(jobs)
            for row in rows:
                check(row, jobs[row.id], self.model)

    @invariant()
    def every_job_is_in_one_place(self) -> None:
        assert find_problems(self.db, late_cancel=True) == []
