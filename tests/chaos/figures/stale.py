"""Tokens of leases that ran out, said again by every path there is."""

import json
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import psycopg
from psycopg.rows import namedtuple_row

from tests.chaos.figures.table import Figure, Setting
from tests.chaos.postgres import Postgres
from tests.chaos.site import Site
from windlass.errors import LeaseLost
from windlass.worker.context import JobContext

__all__ = ["stale"]

Connection = psycopg.Connection[Any]

_TABLES = (
    "job",
    "attempt",
    "ready",
    "scheduled",
    "lease",
    "cancel_request",
    "idempotency_key",
    "cost",
    "cost_delta",
    "cost_day",
)
_CLAIM = "select * from windlass.claim_jobs(%s, array['default'], null, %s, 0.2)"


class Stale(NamedTuple):
    """A claim that is no longer worth anything."""

    tenant_id: UUID
    job_id: UUID
    token: UUID
    version: int


def _renew(connection: Connection, old: Stale) -> bool:
    rows = connection.execute("select code from windlass.renew_leases(%s, 30)", [[old.token]]).fetchall()
    return [row.code for row in rows] != ["lease_lost"]


def _complete(connection: Connection, old: Stale) -> bool:
    text = "select code from windlass.complete_jobs(%s, %s, array['1']::jsonb[])"
    rows = connection.execute(text, [[old.token], [old.job_id]]).fetchall()
    return [row.code for row in rows] != ["lease_lost"]


def _complete_again(connection: Connection, old: Stale) -> bool:
    """As a worker does that got no answer the first time."""
    text = "select code from windlass.complete_jobs(%s, %s, null, null, null, %s)"
    rows = connection.execute(text, [[old.token], [old.job_id], [old.tenant_id]]).fetchall()
    return [row.code for row in rows] != ["lease_lost"]


def _said_by(call: str) -> Callable[[Connection, Stale], bool]:
    def replay(connection: Connection, old: Stale) -> bool:
        text = f"select code from windlass.{call}".encode()
        rows = connection.execute(text, {"token": [old.token], "job": [old.job_id]}).fetchall()
        return [row.code for row in rows] != ["lease_lost"]

    return replay


def _child(connection: Connection, old: Stale) -> bool:
    """A handler's transaction that enqueues a child and finishes its job: all of it, or nothing."""
    try:
        with connection.transaction():
            connection.execute("select windlass.enqueue_job(%s, 'child', '{}')", [old.tenant_id])
            connection.execute("select windlass.finish_job(%s, %s)", [old.token, old.job_id])
    except psycopg.Error as error:
        return error.sqlstate != "WL003"
    return True


def _finish(connection: Connection, old: Stale) -> bool:
    """By the library, as a handler says it in its own transaction."""
    job: Any = SimpleNamespace(id=old.job_id, tenant_id=old.tenant_id, token=old.token, version=old.version)
    try:
        with connection.transaction():
            JobContext(job, "late").finish_sync(connection, {"late": True})
    except LeaseLost:
        return False
    return True


PATHS: dict[str, Callable[[Connection, Stale], bool]] = {
    "begin": _said_by("begin_jobs(%(token)s, %(job)s)"),
    "renew": _renew,
    "complete": _complete,
    "complete again": _complete_again,
    "cost": _said_by("record_costs(%(token)s, %(job)s, array[5]::bigint[], array['late'])"),
    "complete with cost": _said_by("complete_jobs(%(token)s, %(job)s, null, array[5]::bigint[])"),
    "fail": _said_by("fail_jobs(%(token)s, %(job)s)"),
    "fail with cost": _said_by("fail_jobs(%(token)s, %(job)s, null, null, null, array[5]::bigint[])"),
    "snooze": _said_by("snooze_jobs(%(token)s, %(job)s, array[60.0])"),
    "release": _said_by("release_jobs(%(token)s, %(job)s)"),
    "finish": _finish,
    "child enqueue": _child,
}


def stale(setting: Setting) -> list[Figure]:
    """0 of at least 2,000 replays may be accepted, and none may leave a trace."""
    count = setting.count(250, least=20)
    with Site(setting.directory, workers=0, major=setting.major, settings={"fsync": "off"}) as site:
        old = _outlive(site, count)
        accepted: dict[str, int] = {}
        with site.primary.connect("windlass_app", row_factory=namedtuple_row) as connection:
            before = _fingerprint(site.primary)
            for name, replay in PATHS.items():
                accepted[name] = sum(replay(connection, one) for one in old)
        changed = [name for name, value in _fingerprint(site.primary).items() if before[name] != value]
    tried, taken = len(old) * len(PATHS), sum(accepted.values())
    seen = f"{taken} of {tried:,} by {len(PATHS)} paths; tables changed: {', '.join(changed) or 'none'}"
    return [Figure("stale tokens accepted", "0 of ≥ 2,000", seen, not taken and not changed, accepted)]


def _outlive(site: Site, count: int) -> list[Stale]:
    """Claims whose leases ran out; their jobs now run elsewhere, have succeeded, or wait in line."""
    tenant, node, other = site.tenants[0], uuid4(), uuid4()
    with site.primary.connect("windlass_app", row_factory=namedtuple_row) as connection:
        jobs = json.dumps([{"kind": "late", "payload": {}, "max_attempts": 9}] * count)
        connection.execute("select count(*) from windlass.enqueue_jobs(%s, %s)", [tenant, jobs])
        old: list[Stale] = []
        while len(old) < count:
            rows = connection.execute(_CLAIM, [node, 3]).fetchall()
            old += [Stale(row.tenant_id, row.job_id, row.token, row.version) for row in rows]
            if not rows:
                raise AssertionError("a claim that should find jobs found none")
        connection.execute("select pg_sleep(0.25)")
        deadline = time.monotonic() + 30
        while site.primary.ask("select count(*) from windlass_data.lease")[0][0]:
            connection.execute("select count(*) from windlass.expire_leases(1000)")
            assert time.monotonic() < deadline, "leases that ran out are recovered"
        text = "select * from windlass.claim_jobs(%s, array['default'], null, %s, 3600)"
        again = connection.execute(text, [other, 2 * count // 3]).fetchall()
        done = again[: count // 3]
        text = "select count(*) from windlass.complete_jobs(%s, %s)"
        connection.execute(text, [[row.token for row in done], [row.job_id for row in done]])
    return old


def _fingerprint(server: Postgres) -> dict[str, str]:
    return {
        table: server.ask(
            f"select md5(coalesce(string_agg(md5(t::text), '' order by md5(t::text)), ''))"
            f" from windlass_data.{table} as t"
        )[0][0]
        for table in _TABLES
    }
