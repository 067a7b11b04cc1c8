"""What a call costs does not grow with the jobs that wait, are put off, run or are done."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.sql.bulk import Cost, fill, keep_statistics_still, measure
from tests.sql.steps import DEFAULT_TENANT, Session
from tests.support import Database
from windlass.model import uuid7_many

pytestmark = [pytest.mark.every_version, pytest.mark.timeout(300)]

FEW = 2_000
MANY = 200_000
BATCH = 50
KINDS = ["k0", "k1", "k2", "k3", "k4"]
ROUNDS = 7  # beyond the five after which a plan may be kept

Prepare = Callable[[Session], tuple[Any, ...]]


def held(jobs: Session) -> tuple[Any, ...]:
    rows = jobs.claim(BATCH, kinds=KINDS)
    assert len(rows) == BATCH
    return [row.token for row in rows], [row.job_id for row in rows]


def one_held(jobs: Session) -> tuple[Any, ...]:
    tokens, ids = held(jobs)
    return tokens[7], ids[7]


def one_of(table: str) -> Prepare:
    def prepare(jobs: Session) -> tuple[Any, ...]:
        jobs.call("reset session authorization")
        column = "job_ids[1]" if table == "lease" else "job_id"
        where = "where ends = 'succeeded'" if table == "attempt" else ""
        (row,) = jobs.call(f"select {column} from windlass_data.{table} {where} limit 1")
        jobs.call("set session authorization windlass_app")
        return jobs.tenant, row[0]

    return prepare


def known_keys(jobs: Session) -> tuple[Any, ...]:
    """The same jobs again, by their keys."""
    jobs.call("reset session authorization")
    rows = jobs.call(
        "select k.kind, k.key from windlass_data.idempotency_key as k where k.kind = 'k3' limit %s", BATCH
    )
    jobs.call("set session authorization windlass_app")
    return jobs.tenant, json.dumps([{"kind": kind, "key": key, "payload": {"n": 1}} for kind, key in rows])


def due_jobs(jobs: Session) -> tuple[Any, ...]:
    """The next hundred put-off jobs fall due."""
    jobs.call("reset session authorization")
    jobs.call(
        "update windlass_data.scheduled set run_at = now() - interval '1 s' where ctid = any "
        "(array(select ctid from windlass_data.scheduled order by run_at limit 100))"
    )
    jobs.call("set session authorization windlass_app")
    return uuid4(), KINDS


def overdue_leases(jobs: Session) -> tuple[Any, ...]:
    jobs.call("reset session authorization")
    jobs.call(
        "update windlass_data.lease set expires_at = now() - interval '1 s' where ctid = any "
        "(array(select ctid from windlass_data.lease order by expires_at limit 5))"
    )
    jobs.call("set session authorization windlass_app")
    return (5,)


def new_jobs(jobs: Session) -> tuple[Any, ...]:
    return jobs.tenant, json.dumps([{"kind": "k1", "payload": {}, "key": f"new{n}"} for n in range(BATCH)])


def alike_jobs(jobs: Session) -> tuple[Any, ...]:
    return jobs.tenant, json.dumps(list(range(BATCH))), uuid7_many(BATCH)


CALLS: dict[str, tuple[str, Prepare]] = {
    "enqueue": ("windlass.enqueue_jobs(%s, %s)", new_jobs),
    "enqueue again": ("windlass.enqueue_jobs(%s, %s)", known_keys),
    "enqueue alike": ('windlass.enqueue_many(%s, \'{"kind": "k1"}\', %s, %s)', alike_jobs),
    "claim": (
        "windlass.claim_jobs(%s, array['default', 'other'], %s, 50)",
        lambda jobs: (uuid4(), KINDS),
    ),
    "claim any kind": (
        "windlass.claim_jobs(%s, array['default'], null, 50)",
        lambda jobs: (uuid4(),),
    ),
    "claim nothing": (
        "windlass.claim_jobs(%s, array['default'], %s, 50)",
        lambda jobs: (uuid4(), ["none"]),
    ),
    "promote and claim": ("windlass.claim_jobs(%s, array['default', 'other'], %s, 50)", due_jobs),
    "complete": ("windlass.complete_jobs(%s, %s)", held),
    "complete again": (
        "windlass.complete_jobs(%s, %s, p_tenants => array_fill(%s::uuid, array[50]))",
        lambda jobs: (*held(jobs), jobs.tenant),
    ),
    "finish": ("windlass.finish_job(%s, %s)", one_held),
    "fail": ("windlass.fail_jobs(%s, %s)", held),
    "fail at once": (
        "windlass.fail_jobs(%s, %s, p_delays => array_fill(0::float8, array[50]))",
        held,
    ),
    "snooze": ("windlass.snooze_jobs(%s, %s, array_fill(9::float8, array[50]))", held),
    "release": ("windlass.release_jobs(%s, %s)", held),
    "renew": ("windlass.renew_leases(%s)", lambda jobs: held(jobs)[:1]),
    "expire": ("windlass.expire_leases(%s)", overdue_leases),
    "expire nothing": ("windlass.expire_leases(%s)", lambda jobs: (100,)),
    "get ready": ("windlass.get_job(%s, %s)", one_of("ready")),
    "get scheduled": ("windlass.get_job(%s, %s)", one_of("scheduled")),
    "get running": ("windlass.get_job(%s, %s)", one_of("lease")),
    "get finished": ("windlass.get_job(%s, %s)", one_of("attempt")),
    "explain ready": ("windlass.explain_job(%s, %s)", one_of("ready")),
    "explain scheduled": ("windlass.explain_job(%s, %s)", one_of("scheduled")),
    "explain running": ("windlass.explain_job(%s, %s)", one_of("lease")),
    "explain finished": ("windlass.explain_job(%s, %s)", one_of("attempt")),
    "cancel ready": ("windlass.cancel_job(%s, %s)", one_of("ready")),
    "cancel scheduled": ("windlass.cancel_job(%s, %s)", one_of("scheduled")),
    "cancel running": ("windlass.cancel_job(%s, %s)", one_of("lease")),
}


def explained_at_the_end(conn: Any) -> Cost:
    """What it costs to explain the last job of a long line: places before it are counted, up to 10,000."""
    (last,) = conn.execute("select job_id from windlass_data.ready order by seq desc limit 1").fetchone()
    with conn.transaction():
        return measure(conn, "select * from windlass.explain_job(%s, %s)", DEFAULT_TENANT, last)


def costs(db: Database, conn: Any) -> dict[str, Cost]:
    """What each call costs a session that has made it before; nothing of it is kept."""
    found = {}
    for name, (call, prepare) in CALLS.items():
        rounds = []
        for _ in range(ROUNDS):
            with conn.transaction(force_rollback=True):
                conn.execute("set local session authorization windlass_app")
                jobs = Session(conn, node=uuid4())
                given = prepare(jobs)
                rounds.append(measure(conn, f"select * from {call}", *given))
        pages = sorted(cost.pages for cost in rounds[-3:])[1]
        scanned = frozenset().union(*(cost.scanned for cost in rounds))
        found[name] = Cost(pages, scanned, min(cost.milliseconds for cost in rounds))
    return found


def test_no_call_costs_more_where_there_are_more_jobs(db: Database) -> None:
    keep_statistics_still(db)
    fill(db, {"ready": FEW, "scheduled": FEW, "finished": FEW, "running": FEW})
    old = db.connect("superuser")
    base = costs(db, old)
    more = MANY - FEW
    fill(db, {"ready": more, "scheduled": more, "finished": more, "running": MANY // 10})
    db.execute("checkpoint", role="superuser")
    grown = {
        "with the plans of before": costs(db, old),
        "with plans made now": costs(db, db.connect("superuser")),
    }
    db.execute("analyze", role="superuser")
    grown["with fresh statistics"] = costs(db, db.connect("superuser"))
    report = {
        f"{name}, {when}": (base[name].pages, cost.pages, sorted(cost.scanned))
        for when, found in grown.items()
        for name, cost in found.items()
        if cost.scanned or cost.pages > 2 * base[name].pages + 100
    }
    assert report == {}
    last = explained_at_the_end(db.connect("superuser"))
    assert (last.pages < 12_000, last.scanned) == (True, frozenset()), last
