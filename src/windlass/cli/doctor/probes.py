"""Checks that try something on connections of their own: nothing they do stays behind."""

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from windlass.cli.doctor.finding import Finding, fail, in_words, ok, warn
from windlass.cli.doctor.login import harmful_setting
from windlass.cli.text import span
from windlass.db.connect import connect, translated
from windlass.errors import WindlassError
from windlass.settings import Settings

__all__ = ["check_clock", "check_isolation", "check_listener", "check_pooler", "check_role", "check_server"]

APPLICATION = "windlass doctor"
OLDEST, NEWEST = 15, 18
SKEW_SECONDS = 1.0
LISTEN_SECONDS = 5.0
GROUPS = ("windlass_producer", "windlass_worker", "windlass_operator", "windlass_reader")


def check_server(connection: Any) -> Finding:
    """Whether the server is one that Windlass is written for."""
    major = connection.info.server_version // 10_000
    encoding = connection.info.parameter_status("server_encoding")
    details = {"version": connection.info.parameter_status("server_version"), "encoding": encoding}
    if major < OLDEST:
        return fail(
            "server",
            f"The server is PostgreSQL {major}.",
            f"Windlass needs {OLDEST} or newer: move the database.",
            **details,
        )
    if encoding != "UTF8":
        return fail("server", f"The database's encoding is {encoding}.", "Windlass needs UTF8.", **details)
    if (harm := harmful_setting(connection)) is not None:
        setting, sentence = harm
        return fail(
            "server",
            f"The setting {setting} is {sentence}",
            f"alter role {connection.info.user} reset {setting}; (or the database, or the server).",
            **details,
        )
    if major > NEWEST:
        return warn(
            "server",
            f"The server is PostgreSQL {major}, newer than any this release was tested with.",
            "Look for a newer release of windlass-jobs.",
            **details,
        )
    return ok("server", f"PostgreSQL {details['version']}, {encoding}.", **details)


# From PostgreSQL 16 on a member may be one that neither has a group's rights nor can take them on.
_ROLE = """
select session_user::text, current_user::text, r.rolsuper, r.rolbypassrls,
  array(select g from unnest(%s::text[]) as g where to_regrole(g) is not null and pg_has_role(g, 'usage')),
  exists (select from pg_roles as e where e.rolname = 'windlass_engine' and pg_has_role(e.oid, 'usage')),
  exists (select from pg_roles as o where o.rolname = 'windlass_owner' and pg_has_role(o.oid,
    case when current_setting('server_version_num')::integer < 160000 then 'member' else 'set' end))
from pg_catalog.pg_roles as r where r.rolname = current_user"""
# By the catalog: to name a table of a schema that the role may not use would be an error.
_READS_TABLES = """
select coalesce(bool_or(has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')), false)
from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where n.nspname = 'windlass_data' and c.relname = 'job'"""


def check_role(connection: Any) -> Finding:
    """Whether row-level security can hold the role at all, and what the role may do."""
    login, role, superuser, bypass, groups, engine, owner = _row(connection, _ROLE, [list(GROUPS)])
    details = {"login": login, "role": role, "groups": groups}
    if superuser or bypass or engine:
        exempt = "exempt from it (BYPASSRLS)" if bypass else "a member of windlass_engine"
        why = "a superuser" if superuser else exempt
        (reads,) = _row(connection, _READS_TABLES)
        judge, what = (
            (fail, "it reads the rows of every tenant")
            if reads
            else (warn, "only that it may not read the tables keeps it from every tenant's rows")
        )
        return judge(
            "role",
            f"Row-level security does not hold the role {role}, which is {why}: {what}.",
            "Connect as a login that is only a member of windlass_producer, windlass_worker, "
            "windlass_operator or windlass_reader.",
            **details,
        )
    if not groups and owner:
        what = "is" if role == "windlass_owner" else "may act as"
        return warn(
            "role",
            f"{role} {what} windlass_owner, owner of the schema: fit for migrating, not for running.",
            f"For all but migrations, connect as a login in {', '.join(GROUPS)} (those that it needs).",
            **details,
        )
    if not groups:
        return fail(
            "role",
            f"The role {role} has the rights of none of Windlass's groups.",
            f"As an administrator, for each of {', '.join(GROUPS)} that it needs: grant … to {role};",
            **details,
        )
    shown = ", ".join(group.removeprefix("windlass_") for group in groups)
    return ok("role", f"{role} may act as {shown}; it is neither superuser nor exempt from RLS.", **details)


def check_isolation(connection: Any) -> Finding:
    """Read without a tenant, which must show nothing, while a job is there to be seen.

    The job is the positive control: enqueued, read back with its tenant named, and rolled back.  A role
    that may read the tables themselves is tried on those too: there its own rights count.
    """
    try:
        with _rolled_back(connection):
            (bound,) = _row(connection, "select windlass_data.bound_tenant()")
            tenant = bound or _row(connection, "select windlass.tenant_id('default')")[0]
            enqueue = "select job_id from windlass.enqueue_job(%s, 'windlass-doctor')"
            (job_id,) = _row(connection, enqueue, [tenant])
            (reads,) = _row(connection, _READS_TABLES)
            sources = ("windlass.jobs", "windlass_data.job") if reads else ("windlass.jobs",)
            tried = _settings_to_try(tenant, bound=bound is not None)
            seen = {place: _count_as(connection, setting, job_id, sources) for place, setting in tried}
    except WindlassError as error:
        if _may_try(connection):
            return fail(
                "isolation",
                f"Row-level security could not be tried, in spite of the role's groups: {in_words(error)}",
                "Mend what the other findings name, and run the doctor again.",
            )
        return warn(
            "isolation",
            f"Row-level security could not be tried: {in_words(error)}",
            "Run the doctor as a login in windlass_producer and windlass_reader.",
        )
    if not seen.pop("its own tenant"):
        return fail(
            "isolation",
            "A job could not be read back by its own tenant, so that seeing none proves nothing.",
            "Run `windlass migrate`; if that changes nothing, the schema was altered by hand.",
        )
    leaks = [place for place, count in seen.items() if count]
    if leaks:
        return fail(
            "isolation",
            f"Rows of a tenant are seen with {' and with '.join(leaks)}.",
            "If the role above is sound, row-level security was altered: stop the workers and run `windlass "
            "migrate`. If it is not, connect as another.",
            leaks=leaks,
        )
    without = "with" if "no tenant set" not in seen else "without one or with"
    return ok("isolation", f"Tried: a job is seen by its own tenant, and by nobody {without} another.")


def _may_try(connection: Any) -> bool:
    (groups,) = _row(
        connection,
        "select array(select g from unnest(%s::text[]) as g where pg_has_role(g, 'usage'))",
        [list(GROUPS)],
    )
    return "windlass_operator" in groups or {"windlass_producer", "windlass_reader"} <= set(groups)


def _settings_to_try(tenant: Any, *, bound: bool) -> Iterator[tuple[str, str]]:
    yield "its own tenant", str(tenant)
    if not bound:  # to a bound login, saying nothing means its own tenant
        yield "no tenant set", ""
    yield "a malformed tenant", "not-a-uuid"
    yield "another tenant", "00000000-0000-0000-0000-000000000000"


def _count_as(connection: Any, setting: str, job_id: Any, sources: Sequence[str]) -> int:
    """How many times the job is seen; by its own tenant once in each source, by anybody else never."""
    connection.execute("select set_config('windlass.tenant_id', %s, true)", [setting])
    queries = (f"select count(*) from {source} where id = %s" for source in sources)  # noqa: S608
    return sum(int(_row(connection, query, [job_id])[0]) for query in queries)


@contextmanager
def _rolled_back(connection: Any) -> Iterator[None]:
    with translated():
        connection.execute("begin")
        try:
            yield
        finally:
            connection.execute("rollback")


def check_pooler(connection: Any, settings: Settings, url: str) -> Finding:
    """Find a pooler between here and the server, and whether Windlass was told of it.

    A pooler answers the start of a session itself, with a process number that is not the server's.
    """
    (backend,) = _row(connection, "select pg_backend_pid()")
    direct = backend == connection.info.backend_pid
    told = settings.pooler == "transaction"
    if direct:
        if told:
            return warn(
                "pooler",
                "WINDLASS_POOLER is transaction, but the connection leads straight to the server.",
                "Unset it, so that statements are prepared.",
            )
        return ok("pooler", "None: the connection leads straight to the server.")
    if not _moves(connection, url):
        return ok("pooler", "A pooler that keeps a session on one server connection.")
    if not told:
        return fail(
            "pooler",
            "A transaction pooler stands before the server, and Windlass does not know of it: "
            "prepared statements will fail at random.",
            "Set WINDLASS_POOLER=transaction, and WINDLASS_LISTEN_URL to a direct connection.",
        )
    return ok("pooler", "A transaction pooler, and WINDLASS_POOLER says so.")


def _moves(connection: Any, url: str) -> bool:
    """Whether two transactions of one session run on different server connections.

    A second session takes what the first gave back, if it gave anything back, and holds it.
    """
    (before,) = _row(connection, "select pg_backend_pid()")
    with connect(url, pooler="transaction", application_name=APPLICATION) as other, _rolled_back(other):
        (others,) = _row(other, "select pg_backend_pid()")
        if others == before:
            return True  # and a pool of one connection would let nobody else ask now
        (after,) = _row(connection, "select pg_backend_pid()")
    return bool(after != before)


def check_clock(connection: Any) -> Finding:
    """How far this machine's clock is from the database's, beyond what the way there can explain."""
    asked = datetime.now(UTC)
    (there,) = _row(connection, "select clock_timestamp()")
    heard = datetime.now(UTC)
    travel = (heard - asked).total_seconds()
    skew = (there - (asked + (heard - asked) / 2)).total_seconds()
    shown = f"{span(abs(skew))} {'behind' if skew > 0 else 'ahead of'} the database's"
    if abs(skew) - travel / 2 > SKEW_SECONDS:
        return warn(
            "clock",
            f"This machine's clock is {shown}.",
            "Jobs go by the database's clock and are safe; times in logs are not comparable: mend NTP.",
            skew_seconds=round(skew, 3),
        )
    return ok("clock", f"This machine's clock is {shown}.", skew_seconds=round(skew, 3))


def check_listener(settings: Settings, url: str) -> Finding:
    """Send a notice on a channel of our own, and hear it."""
    if settings.pooler == "transaction" and settings.listen_url is None:
        return warn(
            "listener",
            f"Behind a pooler, without WINDLASS_LISTEN_URL, workers ask every {settings.poll_seconds:g} s.",
            "Set WINDLASS_LISTEN_URL to a direct connection, and a new job is started at once.",
        )
    channel = f"windlass_doctor_{secrets.token_hex(8)}"
    try:
        with connect(settings.listen_url or url, application_name=APPLICATION) as listener, translated():
            listener.execute(f"listen {channel}".encode())
            with connect(url, pooler=settings.pooler, application_name=APPLICATION) as sender:
                started = time.monotonic()
                sender.execute("select pg_notify(%s, '')", [channel])
                heard = list(listener.notifies(timeout=LISTEN_SECONDS, stop_after=1))
    except WindlassError as error:
        return fail(
            "listener",
            f"There is no connection to listen on: {in_words(error)}",
            "Check WINDLASS_LISTEN_URL.",
        )
    if not heard:
        return fail(
            "listener",
            f"A notice did not come back within {LISTEN_SECONDS:g} s.",
            "WINDLASS_LISTEN_URL must lead to the same database, without a transaction pooler between.",
        )
    taken = time.monotonic() - started
    return ok("listener", f"A notice came back after {span(taken)}.", seconds=round(taken, 4))


def _row(connection: Any, query: str, parameters: list[Any] | None = None) -> Any:
    # In binary: the settings of the login say how a time is written in text.
    with translated():
        return connection.execute(query, parameters, prepare=False, binary=True).fetchone()
