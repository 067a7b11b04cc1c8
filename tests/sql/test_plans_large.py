"""With a million jobs in line, hundreds of thousands that are finished or scheduled, and ten thousand tenants
no hot call reads more than with few of all."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.sql.bulk import keep_statistics_still, measure
from tests.sql.steps import Session
from tests.support import Database
from windlass.model import uuid7

pytestmark = pytest.mark.timeout(600)

BATCH = 500
LANES = 125
DUE = 400
PAGES_A_LANE = 5
"""What a claim may read of each listed lane if it is told of none: it looks whether something is in line."""
ROLLED_BACK = 400
"""Pages of what was tried before and taken back, which no vacuum has removed here."""
OPEN_CLAIM = "claim without names"
FIRST_KEPT = 6
"""Beyond the five times after which a plan may be kept."""
FIRST_TENANT = "00000000-0000-7000-9000-"

_TENANTS = """
insert into windlass_data.tenant (id, slug, name)
select (%(first)s || lpad(n::text, 12, '0'))::uuid, 't' || n, 't'
from generate_series(%(low)s::int, %(high)s::int) as n;
insert into windlass_data.lane (tenant_id, queue, kind, priority)
select t.id, 'default', 'mail', p from windlass_data.tenant as t, unnest(array[0, 9]) as p
on conflict do nothing;
insert into windlass_data.busy_lane
select l.id, l.tenant_id, l.queue, l.kind, l.priority from windlass_data.lane as l
where l.priority = 0 and not exists (select from windlass_data.busy_lane as b where b.lane_id = l.id)
"""
_JOBS = """
create temp table made on commit drop as
select windlass_data.new_id() as id, l.id as lane_id, l.tenant_id, nextval('windlass_data.ready_seq') as seq
from generate_series(1, %(count)s::int) as n
join (select l.*, row_number() over (order by l.id) - 1 as nth
      from windlass_data.lane as l where l.priority = %(priority)s) as l on l.nth = n %% %(lanes)s::int;
insert into windlass_data.job (tenant_id, id, lane_id, seq, max_attempts, created_at, payload)
select m.tenant_id, m.id, m.lane_id, m.seq, 5, now(), '{}' from made as m;
"""
_READY = """
insert into windlass_data.ready (lane_id, version, seq, tenant_id, job_id, counted)
select m.lane_id, 0, m.seq, m.tenant_id, m.id, 0 from made as m order by m.seq
"""
_NEXT_WEEK = """
insert into windlass_data.scheduled (tenant_id, job_id, run_at, lane_id, version, counted)
select m.tenant_id, m.id, now() + interval '7 days', m.lane_id, 0, 0 from made as m
"""


_FINISHED = """
insert into windlass_data.attempt
  (tenant_id, job_id, version, counted, node_id, token, started_at, finished_at, outcome, ends)
select m.tenant_id, m.id, 1, 1, m.id, m.id, now(), now(), 'succeeded', 'succeeded' from made as m
"""
_FALL_DUE = """
update windlass_data.scheduled as s set run_at = now() - interval '1 minute'
where s.job_id = any (array(
  select n.job_id
  from (select distinct t.lane_id from windlass_data.scheduled as t order by 1 limit %(lanes)s) as l
  cross join lateral (
    select t.job_id from windlass_data.scheduled as t where t.lane_id = l.lane_id limit 4) as n
  limit %(count)s))
"""


def grow(db: Database, tenants: tuple[int, int], *, ready: int, next_week: int, finished: int) -> None:
    """Add tenants, each with a lane of urgent jobs too, and jobs for all of them."""
    conn = db.connection("superuser")
    values = {"first": FIRST_TENANT, "low": tenants[0], "high": tenants[1]}
    for statement in _TENANTS.split(";"):
        conn.execute(statement.encode(), values if "%(" in statement else None)
    places = ((finished, 0, _FINISHED), (ready, 0, _READY), (next_week, 9, _NEXT_WEEK))
    for count, priority, place in places:
        with conn.transaction():
            for statement in (_JOBS + place).split(";"):
                given = {"count": count, "priority": priority, "lanes": tenants[1] + 1}
                conn.execute(statement.encode(), given if "%(" in statement else None)


def pages_of(db: Database, conn: Any) -> dict[str, int]:
    """Pages that each hot call reads in a session that has made it before; nothing of it is kept.

    The least of three times: whatever else the server does may make a session read its catalog again.
    """
    lanes = db.fetch(
        "select b.lane_id, b.tenant_id from windlass_data.busy_lane as b order by 1 limit %s",
        LANES,
        role="superuser",
    )
    named = [row.lane_id for row in lanes]
    last = db.fetch_value(
        "select r.job_id from windlass_data.ready as r where r.lane_id = %s order by r.seq desc limit 1",
        named[0],
        role="superuser",
    )
    claim = "select * from windlass.claim_jobs(%s, '{default}', null, %s, 30, false, %s, %s, true)"
    survey = "select * from windlass.survey_lanes(%s, '{elsewhere}', null, %s, %s, %s)"
    open_claim = "select * from windlass.claim_jobs(%s, '{default}', null, %s)"
    batch, payloads = json.dumps([{"kind": "mail", "payload": {}}] * BATCH), json.dumps([{}] * BATCH)
    many = 'select windlass.enqueue_many(%s, \'{"kind": "mail"}\', %s, %s)'
    tenant = lanes[0].tenant_id
    found: dict[str, list[int]] = {}
    scanned: set[str] = set()

    def cost(name: str, query: str, *given: Any) -> None:
        made = measure(conn, query, *given)
        scanned.update(made.scanned)
        found.setdefault(name, []).append(made.pages)

    for _ in range(FIRST_KEPT + 3):
        with conn.transaction(force_rollback=True):
            conn.execute(_FALL_DUE.encode(), {"lanes": LANES, "count": DUE})
            conn.execute("set local session authorization windlass_app")
            jobs = Session(conn, node=uuid4())
            cost("promote", survey, jobs.node, named, [0] * LANES, [0] * LANES)
            cost("explain", "select * from windlass.explain_job(%s, %s)", tenant, last)
            cost("enqueue", "select * from windlass.enqueue_jobs(%s, %s)", tenant, batch)
            cost("enqueue one", "select * from windlass.enqueue_job(%s, 'mail')", tenant)
            cost("enqueue many", many, tenant, payloads, [uuid7() for _ in range(BATCH)])
            cost("claim from named lanes", claim, jobs.node, BATCH, named, [0] * LANES)
            rows = jobs.call(claim, jobs.node, BATCH, named, [0] * LANES)
            assert len(rows) == BATCH
            tokens, ids = [row.token for row in rows], [row.job_id for row in rows]
            cost("renew", "select * from windlass.renew_leases(%s)", tokens)
            half = BATCH // 2
            cost("complete", "select * from windlass.complete_jobs(%s, %s)", tokens[:half], ids[:half])
            cost("fail", "select * from windlass.fail_jobs(%s, %s)", tokens[half:], ids[half:])
            cost("expire nothing", "select * from windlass.expire_leases(100)")
            cost("survey", survey, jobs.node, named, [0] * LANES, [0] * LANES)
            cost(OPEN_CLAIM, open_claim, jobs.node, 10)
            _cost_of_other_words(jobs, claim, named, cost)
    assert not scanned, "tables read from end to end"
    return {name: min(pages[FIRST_KEPT:]) for name, pages in found.items()}


def _cost_of_other_words(jobs: Session, claim: str, named: list[int], cost: Callable[..., None]) -> None:
    """Of a second claim: words other than success and failure, and a finish in a transaction."""
    claim = claim[:-1] + ", p_begins => true)"
    rows = jobs.call(claim, jobs.node, BATCH, named, [0] * LANES)
    assert len(rows) == BATCH
    tokens, ids, third = [row.token for row in rows], [row.job_id for row in rows], BATCH // 3
    cost("begin", "select * from windlass.begin_jobs(%s, %s)", tokens, ids)
    costs = "select * from windlass.record_costs(%s, %s, %s, %s, %s)"
    cost("record costs", costs, tokens, ids, [1] * BATCH, ["x"] * BATCH, [uuid7() for _ in ids])
    cost("finish", "select windlass.finish_job(%s, %s)", tokens[-1], ids[-1])
    cost("release", "select * from windlass.release_jobs(%s, %s)", tokens[:third], ids[:third])
    snooze = "select * from windlass.snooze_jobs(%s, %s, %s)"
    cost("snooze", snooze, tokens[third : 2 * third], ids[third : 2 * third], [60.0] * third)


def test_a_million_jobs_of_ten_thousand_tenants_change_no_hot_call(db: Database) -> None:
    keep_statistics_still(db)
    grow(db, (1, 200), ready=20_000, next_week=1_000, finished=2_000)
    old = db.connect("superuser")
    few = pages_of(db, old)
    grow(db, (201, 10_000), ready=1_000_000, next_week=300_000, finished=300_000)
    grown = {"with the plans of before": pages_of(db, old)}
    db.execute("analyze", role="superuser")
    grown["with fresh statistics"] = pages_of(db, db.connect("superuser"))
    listed = db.fetch_value("select count(*) from windlass_data.busy_lane", role="superuser")
    for found in grown.values():
        assert found.pop(OPEN_CLAIM) <= few[OPEN_CLAIM] + PAGES_A_LANE * listed
    report = {
        f"{name}, {when}": (few[name], pages)
        for when, found in grown.items()
        for name, pages in found.items()
        if pages > 2 * few[name] + ROLLED_BACK
    }
    assert report == {}, "pages before and after"
