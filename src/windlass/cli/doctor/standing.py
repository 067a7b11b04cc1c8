"""Checks of how the tables and the server stand, read from what `windlass.health` tells."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from windlass.cli.doctor.finding import Finding, fail, ok, warn
from windlass.cli.text import span, stamp
from windlass.model.names import plural

__all__ = ["check_standing"]

OLD_SECONDS, ANCIENT_SECONDS = 300.0, 3600.0
OLD_XMIN = 1_000_000
BRIEF_SECONDS = 1.0
"""Whoever has held a snapshot no longer than that is no reason for dead rows."""
MANY_DEAD_ROWS = 100_000
FULL_NOTICES = 0.5


def check_standing(health: Mapping[str, Any]) -> Iterator[Finding]:
    yield _forced(health)
    yield _oldest_snapshot(health)
    if health["dead_rows"] is not None:  # a role bound to a tenant is not told
        yield _dead_rows(health)
    yield _notices(health["notification_queue_usage"])
    yield _expired_leases(health["expired_leases"])
    yield _days(health)


def _forced(health: Mapping[str, Any]) -> Finding:
    if not health["rls_forced"]:
        loose = ", ".join(health["unforced_tables"])
        return fail(
            "row security",
            f"Row-level security is not forced on {loose}.",
            "Somebody altered the schema by hand: enable and force it again, as windlass_owner.",
            tables=health["unforced_tables"],
        )
    return ok("row security", "On and forced on every table that holds rows of a tenant.")


def _oldest_snapshot(health: Mapping[str, Any]) -> Finding:
    """Whoever holds an old snapshot keeps dead rows from being removed, and claims get slower."""
    now = datetime.fromisoformat(health["now"])
    held = [(_seconds(holder["since"], now), holder) for holder in health["snapshots"]]
    unseen = health["hidden_sessions"]
    hidden = f" ({unseen} sessions of other roles cannot be seen)" if unseen else ""
    old = [pair for pair in held if pair[0] > OLD_SECONDS or pair[1]["xmin_age"] > OLD_XMIN]
    if not old:
        longest = max((seconds for seconds, _ in held), default=0.0)
        return ok(
            "oldest transaction",
            f"The oldest is {span(longest)} old{hidden}." if held else f"None is open{hidden}.",
            seconds=round(longest, 1),
        )
    seconds, holder = max(old, key=lambda pair: (pair[0], pair[1]["xmin_age"]))
    judge = fail if seconds > ANCIENT_SECONDS else warn
    return judge(
        "oldest transaction",
        f"{_who(holder)} holds a snapshot{_since(holder, now)}, {holder['xmin_age']:,} transactions old: "
        f"no dead row that is younger can be removed.{_others(len(old) - 1)}{hidden}",
        _how_to_end(holder),
        **holder,
    )


def _seconds(since: str | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - datetime.fromisoformat(since)).total_seconds())


def _since(holder: Mapping[str, Any], now: datetime) -> str:
    if holder["since"] is None:
        return ""
    begun = (
        f" since {stamp(datetime.fromisoformat(holder['since']))} ({span(_seconds(holder['since'], now))})"
    )
    if holder["query_start"] is None:
        return begun
    return f"{begun}, its last query began {span(_seconds(holder['query_start'], now))} ago"


def _others(count: int) -> str:
    return f" {count} more are as old." if count > 1 else " One more is as old." if count else ""


def _who(holder: Mapping[str, Any]) -> str:
    if holder["holder"] == "replication slot":
        return f"The replication slot {holder['application_name']} ({holder['state']})"
    if holder["holder"] == "prepared transaction":
        return f"The prepared transaction {holder['application_name']} of {holder['usename']}"
    name = holder["application_name"] or "a session without a name"
    if holder["holder"] == "standby":
        return f"The standby {name}, served by process {holder['pid']},"
    return f"Process {holder['pid']} ({name}, {holder['usename']}, {holder['state']})"


def _how_to_end(holder: Mapping[str, Any]) -> str:
    name = str(holder["application_name"]).replace("'", "''")
    if holder["holder"] == "replication slot":
        return f"If its standby is gone for good: select pg_drop_replication_slot('{name}')."
    if holder["holder"] == "prepared transaction":
        return f"Whoever prepared it must end it: commit prepared '{name}' or rollback prepared '{name}'."
    if holder["holder"] == "standby":
        return "End the long query there, or set hot_standby_feedback = off on it."
    if str(holder["state"]).startswith("idle in transaction"):
        return (
            f"End it with select pg_terminate_backend({holder['pid']}), mend the program that forgot its "
            "transaction, and set idle_in_transaction_session_timeout."
        )
    return f"Let it finish, or end it: select pg_terminate_backend({holder['pid']})."


def _dead_rows(health: Mapping[str, Any]) -> Finding:
    """Many at once are reason enough to name whoever keeps them, however young that snapshot is."""
    dead: Mapping[str, int] = health["dead_rows"]
    table, most = max(dead.items(), key=lambda pair: pair[1])
    if most <= MANY_DEAD_ROWS:
        return ok("dead rows", f"{sum(dead.values()):,} in the tables that every claim reads.", **dead)
    many = f"{most:,} dead rows lie in windlass_data.{table}"
    now = datetime.fromisoformat(health["now"])
    holders = [
        holder
        for holder in health["snapshots"]
        if (holder["since"] is None or _seconds(holder["since"], now) > BRIEF_SECONDS)
        and (holder["holder"] != "session" or holder["usename"])  # autovacuum itself has no name
    ]
    if not holders:
        unseen = health["hidden_sessions"]
        return warn(
            "dead rows",
            f"{many}, and nobody is seen who keeps them.",
            f"{plural(unseen, 'session')} of other roles cannot be seen: run the doctor as a login in "
            "pg_read_all_stats. If none holds a snapshot, autovacuum is off or too slow here."
            if unseen
            else "Autovacuum is off or too slow here.",
            **dead,
        )
    holder = max(holders, key=lambda one: one["xmin_age"])
    return warn(
        "dead rows",
        f"{many}. {_who(holder)} holds a snapshot{_since(holder, now)}: until it ends, none that died since "
        "then can be removed.",
        f"{_how_to_end(holder)} Autovacuum removes the rest.",
        **dead,
        holder=holder,
    )


def _notices(usage: float) -> Finding:
    if usage > FULL_NOTICES:
        return warn(
            "notices",
            f"The server's queue of notices is {usage:.0%} full; once it is full, commits fail.",
            "A session that listens sleeps in a transaction: find it in pg_stat_activity and end it.",
            usage=usage,
        )
    return ok("notices", f"The server's queue of notices is {usage:.0%} full.", usage=usage)


def _expired_leases(expired: int) -> Finding:
    if expired:
        has, was = ("has", "was") if expired == 1 else ("have", "were")
        return warn(
            "leases",
            f"{plural(expired, 'lease')} {has} expired and {was} not recovered yet.",
            "Any running node recovers them within seconds: start one, with or without jobs to run.",
            expired=expired,
        )
    return ok("leases", "None has expired.", expired=0)


def _days(health: Mapping[str, Any]) -> Finding:
    ahead = health["days_ahead"]
    if ahead is None or ahead < 1:
        return warn(
            "partitions",
            "There is no table for tomorrow's jobs: they will go to the default partition.",
            "Any running node makes the tables ahead: start one, with or without jobs to run.",
            days_ahead=ahead,
        )
    return ok(
        "partitions", f"{health['days']} days, made {ahead} ahead.", days=health["days"], days_ahead=ahead
    )
