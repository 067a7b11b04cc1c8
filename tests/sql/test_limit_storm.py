"""Limits under eight who claim at once, whose jobs end in every way: never one more than the limit runs."""

import random
import threading
from collections import Counter
from uuid import UUID, uuid4

from tests.sql.steps import OTHER_TENANT, Session
from tests.sql.whole import assert_whole
from tests.support import Database

CLAIMERS, STEPS = 8, 60
RUNNING = """
select count(*) filter (where l.tenant_id = %(tenant)s) as tenant,
       count(*) filter (where l.queue = 'default') as queue,
       count(*) filter (where l.kind = 'mail' and l.tenant_id <> %(tenant)s) as kind
from windlass_data.lease as le
join windlass_data.lane as l on l.id = le.lane_id
cross join lateral unnest(le.job_ids, le.versions) as m(job_id, version)
where not exists (
  select from windlass_data.attempt as a
  where a.tenant_id = le.tenant_id and a.job_id = m.job_id and a.version = m.version)
"""
LIMITS = {"tenant": 5, "queue": 9, "kind": 3}


class Claimer(threading.Thread):
    """Claims, and ends what it holds in any way, or leaves it to expire."""

    def __init__(self, db: Database, seed: int) -> None:
        super().__init__(daemon=True)
        self._random = random.Random(seed)
        self._jobs = Session(db.connect(), node=uuid4())
        self.claims = 0
        self.starts: Counter[UUID] = Counter()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            for _ in range(STEPS):
                self._step()
        except BaseException as error:
            self.error = error

    def _step(self) -> None:
        pick = self._random
        held = self._jobs.claim(pick.randint(1, 6), queues=["default", "slow"], lease=pick.choice([0.1, 60]))
        self.claims += bool(held)
        for row in held:
            self.starts[row.tenant_id] += 1
            match pick.randrange(6):
                case 0:
                    self._jobs.fail(row, delays=[0])
                case 1:
                    self._jobs.release(row)
                case 2:
                    session = Session(self._jobs.conn, row.tenant_id)
                    session.cancel(row.job_id)
                    self._jobs.fail(row, outcomes=["canceled"])
                case 3 if row.expires_at is not None:
                    self._jobs.expire()  # and what this one holds is left to whoever expires it
                case _:
                    self._jobs.complete(row)


def test_never_one_more_runs_than_a_limit_allows(db: Database, jobs: Session, other: Session) -> None:
    jobs.call("select windlass.set_limit(p_tenant => %s, p_concurrency => %s)", jobs.tenant, LIMITS["tenant"])
    jobs.call("select windlass.set_limit(p_queue => 'default', p_concurrency => %s)", LIMITS["queue"])
    jobs.call(
        "select windlass.set_limit(p_kind => 'mail', p_tenant => %s, p_concurrency => %s)",
        OTHER_TENANT,
        LIMITS["kind"],
    )
    for session in (jobs, other):
        batch = [
            {"kind": kind, "payload": n, "queue": queue, "max_attempts": 20}
            for n in range(60)
            for kind in ("mail", "report")
            for queue in ("default", "slow")
        ]
        session.enqueue_many(batch)
    claimers = [Claimer(db, seed) for seed in range(CLAIMERS)]
    watcher = db.connect("superuser")
    most: Counter[str] = Counter()
    for claimer in claimers:
        claimer.start()
    while any(claimer.is_alive() for claimer in claimers):
        (row,) = watcher.execute(RUNNING.encode(), {"tenant": jobs.tenant}).fetchall()
        for name in LIMITS:
            most[name] = max(most[name], getattr(row, name))
    assert [claimer.error for claimer in claimers if claimer.error] == []
    assert all(most[name] <= allowed for name, allowed in LIMITS.items()), most
    assert all(claimer.claims for claimer in claimers), "each gets its share"
    assert most["tenant"] == LIMITS["tenant"], "or it was no test of it"
    assert_whole(db)


def test_a_rate_is_kept_by_twenty_who_claim_at_once(db: Database, jobs: Session) -> None:
    """Not a token is spent twice, and none gets lost: what came is what was taken and what is left."""
    rate = 200
    jobs.enqueue_many([{"kind": "mail", "payload": n} for n in range(3000)])
    jobs.call("select windlass.set_limit(p_rate => %s, p_rate_seconds => 1, p_burst => 1000)", rate)
    before = db.fetch_value("select windlass.clock()")
    assert len(jobs.claim(1000)) == 1000
    after = db.fetch_value("select windlass.clock()")
    taken = [0] * 20

    def claim(number: int) -> None:
        session = Session(db.connect(), node=uuid4())
        for _ in range(25):
            taken[number] += len(session.claim(5))

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asked = db.fetch_value("select windlass.clock()")
    (use,) = db.fetch("select tokens from windlass.list_limits()")
    answered = db.fetch_value("select windlass.clock()")
    accounted = sum(taken) + use.tokens
    assert rate * (asked - after).total_seconds() - 1e-6 <= accounted
    assert accounted <= rate * (answered - before).total_seconds() + 1e-6
    assert sum(bool(number) for number in taken) > 1
