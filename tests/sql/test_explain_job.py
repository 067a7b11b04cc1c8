"""explain_job: every reason, in the order in which they bind; in no world does it contradict the claim."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.steps import NODE, OTHER_TENANT, UNKNOWN, Session, refused
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

NOON = datetime(2031, 5, 14, 12, 0, tzinfo=UTC)


def explain(session: Session, job_id: UUID) -> list[Any]:
    return session.call("select * from windlass.explain_job(%s, %s)", session.tenant, job_id)


def codes(session: Session, job_id: UUID) -> list[str]:
    return [row.code for row in explain(session, job_id)]


def serve(session: Session, *, node: UUID = NODE, concurrency: int = 50, kinds: str = "{mail}") -> None:
    session.call(
        "select windlass.heartbeat_node(p_node => %s, p_name => 'one', p_host => 'h', p_pid => 1,"
        " p_version => '1', p_queues => '{default}', p_kinds => %s, p_concurrency => %s)",
        node,
        kinds,
        concurrency,
    )


def test_a_job_that_nobody_takes_and_then_somebody_does(jobs: Session) -> None:
    job_id = jobs.enqueue()
    nobody, line = explain(jobs, job_id)
    assert (nobody.code, nobody.blocks, line.code) == ("no_worker", False, "line")
    assert "kind mail from queue default: there is none" in nobody.says
    serve(jobs, kinds="{report}")
    assert explain(jobs, job_id)[0].details["alive"][0]["kinds"] == ["report"]
    serve(jobs)
    assert codes(jobs, job_id) == ["line"]
    jobs.enqueue(priority=3)
    assert "1 jobs of its tenant are before it" in explain(jobs, job_id)[0].says


def test_full_held_and_draining_workers(jobs: Session) -> None:
    serve(jobs, concurrency=1)
    jobs.enqueue()
    second = jobs.enqueue()
    held = jobs.claim_one()
    assert codes(jobs, second) == ["workers_full", "line"]
    jobs.complete(held)
    jobs.call("select windlass.set_gate(p_node => 'one')")
    assert codes(jobs, second) == ["workers_held", "line"]
    jobs.call("select windlass.clear_gate(p_node => 'one')")
    jobs.call("select windlass.drain_node(%s)", "one")
    assert codes(jobs, second) == ["workers_held", "line"]


def test_nodes_that_knew_other_functions(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    serve(jobs)
    db.execute("update windlass_data.node set code = 'another'", role="superuser")
    serve(jobs)
    assert codes(jobs, job_id) == ["schema_mismatch", "line"]
    assert explain(jobs, job_id)[0].says.endswith("were replaced: one")


def test_running_and_a_lease_that_ran_out(jobs: Session, clock: Clock) -> None:
    clock.freeze(NOON)
    serve(jobs)
    job_id = jobs.enqueue()
    held = jobs.claim_one(lease=30)
    clock.advance(10)
    jobs.renew(held.token, lease=30)
    (row,) = explain(jobs, job_id)
    assert (row.code, row.blocks, row.clears_at) == ("running", True, NOON + timedelta(seconds=40))
    assert row.details["node"] == "one"
    assert datetime.fromisoformat(row.details["renewed_at"]) == NOON + timedelta(seconds=10)
    clock.advance(31)
    assert codes(jobs, job_id) == ["lease_expired"]


def test_time_retry_and_the_end(jobs: Session, clock: Clock) -> None:
    clock.freeze(NOON)
    serve(jobs)
    job_id = jobs.enqueue(run_at=NOON + timedelta(hours=1), max_attempts=2)
    (row,) = explain(jobs, job_id)
    assert (row.code, row.clears_at) == ("not_due", NOON + timedelta(hours=1))
    clock.advance(3600)
    serve(jobs)
    jobs.fail(jobs.claim_one(), errors=[{"type": "Broken", "message": "no route"}], delays=[60])
    (row,) = explain(jobs, job_id)
    assert (row.code, row.clears_at) == ("retry_wait", NOON + timedelta(seconds=3660))
    assert "attempt 1 of 2 failed (Broken: no route)" in row.says
    clock.advance(60)
    jobs.fail(jobs.claim_one(), errors=[{"type": "Broken", "message": "no route"}])
    (row,) = explain(jobs, job_id)
    assert (row.code, row.clears) == ("dead", "redrive it")
    assert "after 2 of 2 attempts; the last: Broken: no route" in row.says
    other = jobs.enqueue()
    jobs.cancel(other, "not wanted")
    assert explain(jobs, other)[0].says.endswith("not wanted")


def test_sentences_have_times_in_utc_whatever_the_session_is_set_to(
    db: Database, jobs: Session, clock: Clock
) -> None:
    abroad = db.connect()
    abroad.execute("set timezone = 'Asia/Kolkata'")
    abroad.execute("set datestyle = 'German'")

    def says(job_id: UUID) -> str:
        text = "select string_agg(says, '; ') from windlass.explain_job(%s, %s) where blocks"
        ((said,),) = abroad.execute(text, [jobs.tenant, job_id]).fetchall()
        return str(said)

    clock.freeze(NOON + timedelta(microseconds=7_900))
    due = jobs.enqueue(run_at=NOON + timedelta(days=1, microseconds=115_900))
    assert says(due) == "it is not to run before 2031-05-15T12:00:00.115Z"
    job_id = jobs.enqueue(max_attempts=2, retry={"base": 60, "factor": 1, "cap": None, "jitter": "none"})
    held = jobs.claim_one(lease=30)
    assert "since 2031-05-14T12:00:00.007Z; the lease holds until 2031-05-14T12:00:30.007Z" in says(job_id)
    clock.advance(10)
    jobs.renew(held.token, lease=30)
    assert says(job_id).endswith("until 2031-05-14T12:00:40.007Z, renewed at 2031-05-14T12:00:10.007Z")
    clock.advance(31)
    assert "ran out at 2031-05-14T12:00:40.007Z: " in says(job_id)
    jobs.fail(held)
    assert says(job_id).endswith("the next comes at 2031-05-14T12:01:41.007Z")
    clock.advance(60)
    jobs.fail(jobs.claim_one())
    assert says(job_id).startswith("it is dead since 2031-05-14T12:01:41.007Z")


def test_gates_and_limits_in_their_order(jobs: Session, clock: Clock) -> None:
    clock.freeze(NOON)
    serve(jobs)
    jobs.enqueue()
    job_id = jobs.enqueue(run_at=NOON + timedelta(seconds=5))
    jobs.claim_one()
    until = NOON + timedelta(hours=2)
    jobs.call(
        "select windlass.set_gate(p_queue => 'default', p_reason => 'relay is down', p_actor => 'ann',"
        " p_expires_at => %s)",
        until,
    )
    jobs.call("select windlass.set_limit(p_kind => 'mail', p_concurrency => 1)")
    jobs.call("select windlass.set_limit(p_tenant => %s, p_rate => 1, p_rate_seconds => 10)", jobs.tenant)
    jobs.call("select windlass.clear_gate(p_queue => 'default')")
    jobs.enqueue()
    jobs.call("select windlass.set_limit(p_kind => 'mail', p_concurrency => 2)")
    jobs.claim_one()
    jobs.call(
        "select windlass.set_gate(p_queue => 'default', p_reason => 'relay is down', p_actor => 'ann',"
        " p_expires_at => %s)",
        until,
    )
    rows = explain(jobs, job_id)
    assert [row.code for row in rows] == ["not_due", "gate", "concurrency", "rate"]
    gate, many, rate = rows[1:4]
    assert gate.says == "ann closed the gate on queue default: relay is down"
    assert gate.clears_at == until
    assert many.says == "the limit on kind mail lets no more run: 2 of 2"
    assert (many.details["current"], many.details["maximum"]) == (2, 2)
    assert rate.says == "the rate of tenant default is used up: 1 in 10 s"
    assert rate.clears_at == NOON + timedelta(seconds=10)


def test_a_key_names_who_has_the_turn(jobs: Session) -> None:
    serve(jobs)
    first, second, third = (jobs.enqueue(concurrency_key="acme") for _ in range(3))
    assert codes(jobs, first) == ["line"]
    jobs.claim_one()
    assert (codes(jobs, second), codes(jobs, third)) == (["key"], ["key"])
    (row,) = explain(jobs, third)
    assert (row.details["running"], row.details["ahead"]) == ([str(first)], 1)


def test_who_has_no_place_in_line_yet_is_behind_all(jobs: Session) -> None:
    serve(jobs)
    for _ in range(3):
        jobs.enqueue()
    jobs.enqueue(priority=-1)
    (row,) = explain(jobs, jobs.enqueue(concurrency_key="acme"))
    assert (row.code, row.details["ahead"]) == ("line", 3)


def test_unknown_and_foreign_jobs_get_the_same_answer(db: Database, jobs: Session, other: Session) -> None:
    job_id = other.enqueue()
    for unknown in (job_id, UNKNOWN):
        with refused("WL001"):
            explain(jobs, unknown)
    db.execute("select windlass.bind_role('test_reader', %s)", OTHER_TENANT, role="owner")
    reader = Session(db.connect("reader"), OTHER_TENANT)
    jobs.call("select windlass.set_limit(p_queue => 'default', p_concurrency => 0)")
    row = explain(reader, job_id)[0]
    assert row.code == "concurrency"
    assert row.says == "the limit on queue default lets no more run"
    assert row.details["current"] is None
    with refused("WL005"):
        explain(Session(reader.conn), job_id)
    jobs.call("select windlass.clear_limit(p_queue => 'default')")
    assert "alive" in explain(reader, job_id)[0].details
    serve(jobs)
    assert codes(reader, job_id) == ["line"], "a node that others run takes it too"
    serve(jobs, concurrency=0)
    assert explain(reader, job_id)[0].details == {"nodes": [{"full": True, "old": False}]}


class World:
    """A random installation at one moment."""

    def __init__(self, seed: int, jobs: Session, other: Session) -> None:
        self.random = random.Random(seed)
        self.sessions = (jobs, other)
        self.jobs: list[tuple[Session, UUID]] = []

    def build(self, clock: Clock) -> None:
        clock.freeze(NOON)
        for _ in range(self.random.randrange(3)):
            self.limit()
        for _ in range(30):
            self.step(clock)
        for _ in range(self.random.randrange(4)):
            self.limit()
        for _ in range(self.random.randrange(3)):
            self.gate()
        clock.advance(self.random.choice([0, 3, 30]))

    def step(self, clock: Clock) -> None:
        pick = self.random.random()
        if pick < 0.7:
            self.enqueue()
        elif pick < 0.9:
            held = self.sessions[0].claim(self.random.randint(1, 4), queues=["default", "slow"], lease=600)
            for row in held:
                if self.random.random() < 0.5:
                    end = self.random.choice(["complete", "fail", "release", "snooze"])
                    session = self.sessions[0]
                    if end == "snooze":
                        session.snooze(row, delays=[self.random.choice([1, 20])])
                    else:
                        getattr(session, end)(row)
        else:
            clock.advance(1)

    def enqueue(self) -> None:
        session = self.random.choice(self.sessions)
        more: dict[str, Any] = {}
        if self.random.random() < 0.4:
            more["concurrency_key"] = self.random.choice("ab")
            more["concurrency_limit"] = self.random.choice([1, 2])
        if self.random.random() < 0.2:
            more["run_at"] = NOON + timedelta(seconds=self.random.choice([1, 20, 9999]))
        job_id = session.enqueue(
            self.random.choice(["mail", "report"]),
            queue=self.random.choice(["default", "slow"]),
            priority=self.random.choice([0, 0, 5]),
            max_attempts=2,
            **more,
        )
        self.jobs.append((session, job_id))

    def scope(self) -> dict[str, Any]:
        choice = {
            "tenant": self.random.choice(self.sessions).tenant,
            "queue": self.random.choice(["default", "slow"]),
            "kind": self.random.choice(["mail", "report"]),
        }
        return {name: value for name, value in choice.items() if self.random.random() < 0.5}

    def limit(self) -> None:
        said = self.scope() | self.random.choice(
            [{"concurrency": self.random.randrange(6)}, {"rate": 3, "rate_seconds": 10}, {"budget_cents": 0}]
        )
        self.say("set_limit", said)

    def gate(self) -> None:
        scope = self.scope()
        self.say("set_gate", {**scope, "everything": not scope, "reason": "closed"})

    def say(self, function: str, said: dict[str, Any]) -> None:
        names = ", ".join(f"p_{name} => %s" for name in said)
        self.sessions[0].call(f"select windlass.{function}({names})", *said.values())

    def claimable(self) -> set[UUID]:
        """The jobs of which explain_job says that nothing keeps a claim from taking them."""
        return {
            job_id for session, job_id in self.jobs if not any(row.blocks for row in explain(session, job_id))
        }


@pytest.mark.parametrize("seed", range(12))
def test_what_is_said_to_be_claimable_is_what_claims_take(
    jobs: Session, other: Session, clock: Clock, seed: int
) -> None:
    world = World(seed, jobs, other)
    world.build(clock)
    said = world.claimable()
    taken: set[UUID] = set()
    while rows := jobs.claim(world.random.choice([1, 7, 1000]), queues=["default", "slow"], lease=600):
        taken |= {row.job_id for row in rows}
    assert taken <= said, "taken, and said to be blocked"
    assert world.claimable() == set(), "left, and said to be claimable"
    assert taken or not said
