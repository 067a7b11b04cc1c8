"""Who claims from where it stopped steps over nothing that a held snapshot keeps, whatever was said."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.sql.bulk import keep_statistics_still, measure
from tests.sql.steps import Session
from tests.support import Database

pytestmark = [pytest.mark.outer_versions]

ROUNDS, GONE = 3, 5_000
# What is said, by name; %s is the tenant.
SETTINGS = {
    "nothing": "select 1 where %s is not null",
    "a weight": "select windlass.set_tenant(%s, 3)",
    "a strict queue": "select windlass.set_queue('default', 'strict') where %s is not null",
    "ageing": "select windlass.set_queue('default', p_ageing_seconds => 60) where %s is not null",
    "ageing of a strict queue": (
        "select windlass.set_queue('default', 'strict', p_ageing_seconds => 60) where %s is not null"
    ),
    "a limit": "select windlass.set_limit(p_tenant => %s, p_concurrency => 100000, p_rate => 1000000)",
    "a gate": "select windlass.set_gate(p_queue => 'elsewhere') where %s is not null",
}
CALLS: dict[str, tuple[str, Callable[[int, int], list[Any]]]] = {
    "claim": (
        "claim_jobs(%s, '{default}', null, 5, 30, false, %s, %s)",
        lambda lane, mark: [uuid4(), [lane], [mark]],
    ),
    "claim by turns": (
        "claim_jobs(%s, '{default}', null, 5, 30, false, %s, %s, true)",
        lambda lane, mark: [uuid4(), [lane], [mark]],
    ),
    "survey": (
        "survey_lanes(%s, '{default}', null, %s, %s, %s, null, true)",
        lambda lane, mark: [uuid4(), [lane], [mark], [mark]],
    ),
}


def pages_of(db: Database) -> dict[str, int]:
    """Pages that each call reads which knows where the lane's first job is; nothing of it is kept."""
    ((lane, mark),) = db.fetch(
        "select min(lane_id), min(seq) - 1 from windlass_data.ready having count(distinct lane_id) = 1",
        role="superuser",
    )
    conn, found = db.connect("superuser"), {}
    for name, (call, given) in CALLS.items():
        rounds = []
        for _ in range(3):
            with conn.transaction(force_rollback=True):
                conn.execute("set local session authorization windlass_app")
                rounds.append(measure(conn, f"select * from windlass.{call}", *given(lane, mark)).pages)
        found[name] = min(rounds)
    return found


@pytest.mark.parametrize("said", SETTINGS)
def test_jobs_that_are_gone_cost_nothing_from_a_mark_on(db: Database, jobs: Session, said: str) -> None:
    keep_statistics_still(db)
    db.execute(SETTINGS[said], jobs.tenant, role="app")
    reports = []
    holder = db.connect("superuser")
    with holder.transaction():
        holder.execute("set transaction isolation level repeatable read")
        holder.execute("select count(*) from pg_class")
        for _ in range(ROUNDS):
            jobs.enqueue_many([{"kind": "mail"}] * 10)
            reports.append(pages_of(db))
            jobs.complete(*jobs.claim(100))
            for _ in range(GONE // 1000):
                jobs.enqueue_many([{"kind": "mail"}] * 1000)
                jobs.complete(*jobs.claim(1000))
    first = reports[0]
    grown = {
        name: [report[name] for report in reports]
        for name in first
        if reports[-1][name] > 1.5 * first[name] + 30
    }
    assert grown == {}, "pages after each round"
