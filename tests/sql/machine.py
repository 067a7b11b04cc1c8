"""Plays the life of jobs by random rules on the database and on the simulated core, and compares the two."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.simulation.seen import core_row, real_rows
from tests.simulation.sqlwords import at_ms, moment
from tests.sql.pair import LEASE, Pair
from tests.sql.wanted import ANY_JOB, KINDS, TENANTS, VERBS, Wanted, choose, delays, new_jobs, picks
from tests.sql.whole import find_problems

DEEDS = (
    *(*VERBS, "come too late", "finish", "cost", "renew", "expire"),
    *("cancel", "cancel what runs", "reschedule", "redrive", "claim a lone one", "recover by a claim"),
)


class Machine(Pair, RuleBasedStateMachine):
    """One database for all runs; each run begins with no job in it."""

    @initialize(
        wanted=st.lists(new_jobs, min_size=2, max_size=6),
        first=st.lists(st.sampled_from(DEEDS), min_size=2, max_size=10),
    )
    def begin(self, wanted: list[Wanted], first: list[str]) -> None:
        """Hypothesis leaves most rules out of most runs; what comes first may be any of them."""
        self.enqueue(wanted)
        for deed in first:
            self.do(deed)
            self.the_database_agrees()
            self.every_job_is_in_one_place()

    def do(self, deed: str) -> None:
        {
            "finish": lambda: self.finish(0, late=False),
            "cost": lambda: self.cost([0]),
            "renew": lambda: self.renew([0], late=False),
            "cancel": lambda: self.cancel(0, "queued"),
            "cancel what runs": lambda: self.cancel(0, "running"),
            "reschedule": lambda: self.reschedule(0, "queued", 20, 1),
            "redrive": lambda: self.redrive(0, "dead"),
            "expire": self.lose_every_worker,
            "claim a lone one": self.claim_a_lone_one,
            "recover by a claim": self.recover_by_a_claim,
            "come too late": lambda: self.come_too_late([0, 1], "fail"),
        }.get(deed, lambda: self.say(deed, self.held([0])))()

    @rule(wanted=st.lists(new_jobs, min_size=1, max_size=3))
    def enqueue(self, wanted: list[Wanted]) -> None:
        for one in wanted:
            self.enqueue_one(one)

    @rule(limit=st.integers(1, 5), kinds=st.sampled_from([("a",), ("b",), KINDS, KINDS]))
    def claim(self, limit: int, kinds: tuple[str, ...]) -> None:
        self.claim_some(limit, kinds)

    def claim_all(self) -> None:
        self.claim(5, KINDS)
        while any(self.lines(KINDS)):
            self.claim(5, KINDS)

    @rule()
    def claim_a_lone_one(self) -> None:
        """Where one line is all there is, a claim goes a way of its own."""
        self.claim_all()
        self.worker.call("select windlass.retire_lanes()")
        self.enqueue_one(ANY_JOB)
        self.claim(1, KINDS)
        self.count("claim a lone one", 1, 1)

    @rule()
    def recover_by_a_claim(self) -> None:
        self.held([0])
        self.let_time_pass(40)
        self.claim_all()
        self.claim(5, KINDS)
        self.count("recover by a claim", 1, 1)

    @rule()
    def lose_every_worker(self) -> None:
        self.held([0])
        self.claim(5, KINDS)
        self.let_time_pass(40)
        self.expire()

    @rule(numbers=picks, verb=st.sampled_from(["complete", "skip"]), cost=st.sampled_from([None, 3]))
    def complete(self, numbers: list[int], verb: str, cost: int | None) -> None:
        self.say(verb, self.held(numbers), cost=cost)

    @rule(numbers=picks, verb=st.sampled_from(["fail", "time out"]), wait=delays)
    def fail(self, numbers: list[int], verb: str, wait: int | None) -> None:
        self.say(verb, self.held(numbers), wait)

    @rule(numbers=picks, verb=st.sampled_from(["snooze", "release"]), wait=delays)
    def give_back(self, numbers: list[int], verb: str, wait: int | None) -> None:
        self.say(verb, self.held(numbers), wait)

    @rule(numbers=picks)
    def give_up(self, numbers: list[int]) -> None:
        self.say("give up", self.held(numbers))

    @rule(numbers=picks, verb=st.sampled_from(VERBS))
    def come_too_late(self, numbers: list[int], verb: str) -> None:
        """Words with tokens that may have held their job only once."""
        self.say(verb, choose(self.given, numbers) or self.held(numbers), 1_000)

    @rule(numbers=picks)
    def cost(self, numbers: list[int]) -> None:
        words = self.held(numbers)
        assert self.worker.cost(*((word, 4, "x") for word in words)) == ["ok"] * len(words)
        self.count("cost", len(words), len(words))
        for word in words:
            self.core.jobs[word.job_id].cost += 4

    @rule(number=st.integers(0, 99), late=st.booleans())
    def finish(self, number: int, late: bool) -> None:
        """In a transaction of its own, and then the worker's report of it."""
        (word,) = choose(self.given if late else [], [number]) or self.held([number])
        self.both(
            "finish",
            lambda: self.core.finish(word.token, word.job_id, "finished"),
            lambda: self.worker.finish(word, "finished"),
        )
        tenant, result = self.core.jobs[word.job_id].tenant, ["late"]
        self.both(
            "report a finish",
            lambda: self.core.complete([(word.token, word.job_id)], ["succeeded"], result, [tenant]),
            lambda: self.worker.complete(word, results=result, tenants=[tenant]),
        )

    @rule(numbers=picks, late=st.booleans())
    def renew(self, numbers: list[int], late: bool) -> None:
        words = choose(self.given if late else [], numbers) or self.held(numbers)
        tokens = list({word.token: word.token for word in words})
        expected = self.core.renew(tokens, LEASE)
        assert sorted(self.worker.renew(*tokens, lease=LEASE / 1000), key=str) == sorted(expected, key=str)
        lost = sum(code == "lease_lost" for _, _, code in expected)
        self.count("renew", len(tokens) - lost, len(tokens))

    @rule(seconds=st.sampled_from([1, 8, 40]))
    def let_time_pass(self, seconds: int) -> None:
        self.move_clock(self.core.now + seconds * 1000)

    @rule()
    def expire(self) -> None:
        rows = self.worker.expire()
        assert rows == self.core.expire()
        self.count("expire", len(rows), len(rows))

    @rule(number=st.integers(0, 99), state=st.sampled_from(["running", "queued", "any"]))
    def cancel(self, number: int, state: str) -> None:
        if state == "running":
            self.held([number])
        (job,) = choose(self.core.of(state) or list(self.core.jobs.values()), [number])
        runs = self.core.state(job) == "running"
        session, asked = self.by_tenant[job.tenant], "cancel what runs" if runs else "cancel"
        self.both(asked, lambda: self.core.cancel(job.tenant, job.id), lambda: session.cancel(job.id))

    @rule(
        number=st.integers(0, 99),
        state=st.sampled_from(["queued", "any"]),
        after=st.sampled_from([None, -5, 20]),
        priority=st.sampled_from([None, 0, 1]),
    )
    def reschedule(self, number: int, state: str, after: int | None, priority: int | None) -> None:
        (job,) = choose(self.core.of(state) or list(self.core.jobs.values()), [number])
        session, run_at = self.by_tenant[job.tenant], None if after is None else self.core.now + after * 1000
        query = "select windlass.reschedule_job(%s, %s, %s, %s)"
        self.both(
            "reschedule",
            lambda: self.core.reschedule(job.tenant, job.id, run_at, priority),
            lambda: at_ms(session.value(query, job.tenant, job.id, moment(run_at), priority)),
        )

    @rule(number=st.integers(0, 99), state=st.sampled_from(["dead", "dead", "any"]))
    def redrive(self, number: int, state: str) -> None:
        if state == "dead" and not self.core.of("dead"):
            self.lose_every_worker()
        (job,) = choose(self.core.of(state) or list(self.core.jobs.values()), [number])
        query, session = "select job_id from windlass.redrive_jobs(%s, %s)", self.by_tenant[job.tenant]
        self.both(
            "redrive",
            lambda: self.core.redrive(job.tenant, job.id),
            lambda: session.value(query, job.tenant, [job.id]),
        )

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
