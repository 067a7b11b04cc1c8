"""The options that several commands share, and how their values are read."""

import re
from datetime import datetime, timedelta
from typing import Annotated, TypeAlias
from uuid import UUID

import typer

__all__ = [
    "AppName",
    "AsJson",
    "CorrelationId",
    "DatabaseUrl",
    "JobId",
    "Payload",
    "Priority",
    "Reason",
    "TenantName",
    "Wait",
    "WaitTimeout",
    "WrongUsage",
    "Yes",
    "check_due",
    "check_wait",
    "split_names",
    "to_id",
    "to_moment",
    "to_moment_or_span",
    "to_seconds",
    "to_span",
]


class WrongUsage(typer.TyperException):
    """The words of a command line do not go together; exits with 2."""

    exit_code = 2


_COMMON = "Common options"
_UNITS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_DURATION = re.compile(rf"({_NUMBER})(d|h|ms|m|s)")

AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON; errors too, on standard error.", rich_help_panel=_COMMON)
]
DatabaseUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        metavar="URL",
        help="The database, in place of WINDLASS_DATABASE_URL; with neither, the embedded server.",
        rich_help_panel=_COMMON,
    ),
]
TenantName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--tenant",
        metavar="TENANT",
        help="Slug or id of the tenant, in place of WINDLASS_TENANT.",
        rich_help_panel=_COMMON,
    ),
]
AppName: TypeAlias = Annotated[
    str, typer.Argument(metavar="MODULE:APP", help="Where the Windlass object is.")
]
Reason: TypeAlias = Annotated[
    str | None, typer.Option("--reason", help="Why; kept in the history.", metavar="TEXT")
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
Payload: TypeAlias = Annotated[
    str, typer.Argument(metavar="PAYLOAD", help="JSON; - reads it from standard input.")
]
Priority: TypeAlias = Annotated[int, typer.Option("--priority", metavar="N", help="Larger is sooner.")]
CorrelationId: TypeAlias = Annotated[
    str | None, typer.Option("--correlation-id", metavar="TEXT", help="To find related jobs by.")
]
Wait: TypeAlias = Annotated[bool, typer.Option("--wait", help="Wait for the end, and print the result.")]


def to_id(text: str) -> UUID:
    """The id of a job or a gate."""
    try:
        return UUID(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not an id: one has 32 hexadecimal digits, and listings show it whole"
        ) from None


JobId: TypeAlias = Annotated[UUID, typer.Argument(parser=to_id, metavar="ID", help="The job's whole id.")]


def to_seconds(text: str) -> float:
    """`90`, `90s`, `5m`, `1h30m`, `2d` or `500ms`, in seconds."""
    compact = text.replace(" ", "").lower()
    if re.fullmatch(_NUMBER, compact):
        return _plain(float(compact))
    parts = _DURATION.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise typer.BadParameter(f"{text!r} is not a length of time such as 90, 5m, 1h30m or 2d")
    return _plain(sum(float(number) * _UNITS[unit] for number, unit in parts))


def _plain(seconds: float) -> float:
    """A whole number as one: refusals show it, and `0` was never written as `0.0`."""
    return int(seconds) if seconds.is_integer() else seconds


def to_span(text: str) -> timedelta:
    """The same, to be counted from a moment: beyond the longest that can be told there is no date anyway."""
    seconds = to_seconds(text)
    return timedelta.max if seconds >= timedelta.max.total_seconds() else timedelta(seconds=seconds)


WaitTimeout: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--wait-timeout",
        parser=to_seconds,
        metavar="SPAN",
        help="With --wait: give up after so long, exit 10.",
    ),
]


def check_wait(wait: bool, wait_timeout: float | None) -> None:
    """Refuse a time to give up after where nobody waits."""
    if wait_timeout is not None and not wait:
        raise WrongUsage("--wait-timeout needs --wait")


def check_due(run_at: datetime | None, delay: float | None) -> None:
    """Refuse two times at which a job would be due."""
    if run_at is not None and delay is not None:
        raise WrongUsage("--run-at and --delay exclude each other: give one of them")


def to_moment(text: str) -> datetime:
    """ISO 8601 with its time zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a time such as 2030-01-31T09:00:00Z") from None
    if moment.tzinfo is None:
        raise typer.BadParameter(f"{text!r} needs its time zone, as in {moment.isoformat()}Z or +02:00")
    return moment


def to_moment_or_span(text: str) -> datetime | timedelta:
    """A moment, or a length of time that the command counts from now."""
    if text[:4].isdecimal() and text[4:5] == "-":
        return to_moment(text)
    try:
        return to_span(text)
    except typer.BadParameter:
        raise typer.BadParameter(
            f"{text!r} is neither a time such as 2030-01-31T09:00:00Z nor a length of time such as 30m or 2h"
        ) from None


def split_names(values: list[str] | None, option: str) -> list[str] | None:
    """`--queue a,b --queue c` is a, b, c; None when nothing was named."""
    names = [name.strip() for value in values or [] for name in value.split(",")]
    if any(not name for name in names):
        raise WrongUsage(f"{option}: a name in the list is empty")
    return list(dict.fromkeys(names)) or None
