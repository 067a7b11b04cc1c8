"""No listing reads more than a page asks for, however much has finished, waits in line or is put off."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.sql.operate import call, ids
from tests.sql.steps import DEFAULT_TENANT, UNKNOWN, Session
from tests.support import Database, Servers, providers_by_major

MANY = 30_000
BIG_TABLES = "^(job|attempt|ready|scheduled|lease|event)(_|$)"


@pytest.fixture(scope="module")
def big(servers: Servers) -> Iterator[Database]:
    """A database with many finished, waiting and put-off jobs of one tenant, and a few of the rarer ones."""
    with servers.get(next(iter(providers_by_major()))).database() as db:
        Session(db.connection()).enqueue("rare")
        _make(db, "dead", MANY // 10)
        for state in ("succeeded", "ready", "scheduled"):
            _make(db, state, MANY)
        yield db


def _make(db: Database, state: str, count: int) -> None:
    """Jobs written behind the back of every function."""
    db.execute(
        """
        with lane as (
          insert into windlass_data.lane (tenant_id, queue, kind, priority)
          values (%s, 'default', %s, 0) returning *
        )
        insert into windlass_data.job
          (tenant_id, id, lane_id, seq, max_attempts, created_at, run_at, payload, correlation_id)
        select l.tenant_id, windlass_data.new_id(), l.id,
               case when %s then nextval('windlass_data.ready_seq') end, 5, clock_timestamp(),
               clock_timestamp(), '{}', 'c' || n %% 100
        from lane as l, generate_series(1, %s) as n""",
        DEFAULT_TENANT,
        state,
        state == "ready",
        count,
        role="superuser",
    )
    mine = "from windlass_data.job as j join windlass_data.lane as l on l.id = j.lane_id where l.kind = %s"
    if state == "ready":
        query = f"insert into windlass_data.ready select j.lane_id, 0, j.seq, j.tenant_id, j.id, 0 {mine}"
    elif state == "scheduled":
        query = (
            "insert into windlass_data.scheduled "
            f"select j.tenant_id, j.id, j.run_at + interval '7 d', j.lane_id, 0, 0 {mine}"
        )
    else:
        query = (
            "insert into windlass_data.attempt (tenant_id, job_id, version, counted, node_id, token, "
            "started_at, finished_at, outcome, ends) "
            "select j.tenant_id, j.id, 1, 1, j.id, j.id, j.run_at, j.run_at, "
            f"'{'failed' if state == 'dead' else 'succeeded'}', '{state}' {mine}"
        )
    db.execute(query, state, role="superuser")
    if state == "dead":
        db.execute(
            "insert into windlass_data.event (tenant_id, at, actor, action, job_id) "
            f"select j.tenant_id, j.run_at, 'windlass', 'job.dead', j.id {mine}",
            state,
            role="superuser",
        )


def rows_read(db: Database, function: str, **arguments: Any) -> tuple[list[Any], int]:
    """The answer, and how many rows of the big tables were read for it, by whatever plan."""
    with db.connection().transaction():
        before = _reads(db)
        rows = call(db, function, **arguments)
        return rows, _reads(db) - before


def _reads(db: Database) -> int:
    """Rows that this session has read and not yet reported: they are reported between transactions only."""
    return int(
        db.fetch_value(
            "select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::bigint "
            "from pg_stat_xact_user_tables where schemaname = 'windlass_data' and relname ~ %s",
            BIG_TABLES,
        )
    )


@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize(
    ("function", "arguments", "size"),
    [
        ("list_jobs", {}, 50),
        ("list_jobs", {"states": ["queued"]}, 50),
        ("list_jobs", {"states": ["running"]}, 0),
        ("list_jobs", {"states": ["succeeded"]}, 50),
        ("list_jobs", {"states": ["dead"]}, 50),
        ("list_jobs", {"states": ["canceled", "skipped"]}, 0),
        ("list_jobs", {"states": ["dead", "succeeded", "running"]}, 50),
        ("list_jobs", {"states": ["queued"], "kinds": ["rare"]}, 1),
        ("list_jobs", {"correlation_id": "c7"}, 50),
        ("list_jobs", {"correlation_id": "none"}, 0),
        ("list_jobs", {"kinds": ["none"]}, 0),
        ("list_events", {}, 50),
        ("list_events", {"actions": ["job.dead"]}, 50),
        ("list_events", {"actions": ["gate.set"]}, 0),
        ("list_events", {"job": UNKNOWN}, 0),
    ],
)
def test_a_page_costs_what_it_shows(
    big: Database, function: str, arguments: dict[str, Any], size: int, analyzed: bool
) -> None:
    if analyzed:
        big.execute("analyze", role="superuser")
    for _ in range(7):  # more often than the server plans with the values at hand
        rows, read = rows_read(big, function, tenant=DEFAULT_TENANT, limit=50, **arguments)
        assert len(rows) == size
        assert read <= 2000, f"{read} rows were read to show {size}"


def test_a_search_that_finds_little_stops_and_says_where_to_go_on(big: Database) -> None:
    cursor, pages = None, 0
    while True:
        arguments = {"tenant": DEFAULT_TENANT, "kinds": ["rare"], "cursor": cursor}
        rows, read = rows_read(big, "list_jobs", **arguments)
        pages += 1
        assert read <= 45_000
        if rows[-1].id is not None:
            break
        assert len(rows) == 1
        cursor = rows[-1].cursor
    assert [row.kind for row in rows] == ["rare"]
    assert pages == 5


def test_a_redrive_reads_dead_jobs_only(big: Database) -> None:
    _, read = rows_read(big, "redrive_jobs", tenant=DEFAULT_TENANT, dry_run=True, limit=10)
    assert read <= 4 * MANY // 10
    (last,) = call(big, "list_jobs", tenant=DEFAULT_TENANT, states=["dead"], limit=1)
    rows, read = rows_read(big, "redrive_jobs", tenant=DEFAULT_TENANT, jobs=[last.id], dry_run=True)
    assert [row.job_id for row in rows] == ids([last])
    assert read <= 100


def test_queues_and_tenants_count_no_further_than_their_bound(big: Database) -> None:
    for function in ("list_queues", "list_tenants"):
        (row,), read = rows_read(big, function)
        assert (row.ready, row.scheduled) == (10_001, 10_000)
        assert read <= 25_000
