"""`windlass limits`: how many jobs of a scope run, start and wait, and what they may cost."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Literal, NamedTuple

import typer

from windlass.cli.gates import Everything, OfKind, OfQueue, OfTenant
from windlass.cli.options import AsJson, DatabaseUrl, Reason, TenantName, WrongUsage, split_names, to_seconds
from windlass.cli.output import Column, print_json, print_table, say
from windlass.cli.session import open_client
from windlass.cli.text import span
from windlass.cli.tree import listing_group
from windlass.model.limit import LIMITED, Limit

app = listing_group("Limit how many jobs run, start or wait, and what they may cost.")

_PERIODS = {"second": 1.0, "sec": 1.0, "minute": 60.0, "min": 60.0, "hour": 3600.0, "day": 86_400.0}


class Rate(NamedTuple):
    jobs: int
    seconds: float


def to_rate(text: str) -> Rate:
    """`100/60s`, `100/min`, `5/h` or `1000/1h30m`: so many jobs in so long."""
    count, slash, period = text.replace(" ", "").partition("/")
    if not slash or not count.isdecimal() or not period:
        raise typer.BadParameter(f"{text!r} is not a rate such as 100/min, 5/1s or 1000/1h30m")
    named = _PERIODS.get(period.lower())
    return Rate(
        int(count), to_seconds(f"1{period}" if period.isalpha() else period) if named is None else named
    )


@app.command("list")
def list_limits(tenant: TenantName = None, database_url: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """List the limits with what is used of each; --tenant shows those that hold something of one tenant.

    A question mark stands for what a role that is bound to a tenant does not
    get to see: how much others use of a limit that they share.

    Example:
      windlass limits list --tenant acme
    """
    with open_client(database_url) as client:
        limits = client.list_limits(tenant=tenant)
    if as_json:
        print_json({"items": limits})
    else:
        print_limits(limits)


def print_limits(limits: Sequence[Limit]) -> None:
    columns: list[Column[Limit]] = [
        Column("LIMIT ON", lambda limit: limit.scope),
        Column("RUNNING", _running, right=True, style=_paint(_running_full)),
        Column("RATE", lambda limit: None if limit.rate is None else _rate(limit)),
        Column("TOKENS", _tokens, right=True, style=_paint(_tokens_out)),
        Column("WAITING", _waiting, right=True, style=_paint(_waiting_full)),
        Column("SPENT", _spent, right=True, style=_paint(_spent_much)),
        Column("AGAIN", lambda limit: again(limit.again_at, limit.read_at)),
        Column("REASON", lambda limit: limit.reason, wraps=12, spare=1),
        Column("BY", lambda limit: limit.actor, wraps=10, spare=2),
    ]
    print_table(columns, limits, empty="no limits")


@app.command("set")
def set_limit(
    tenant: OfTenant = None,
    queue: OfQueue = None,
    kind: OfKind = None,
    everything: Everything = False,
    concurrency: Annotated[int | None, typer.Option(metavar="N", help="So many run at a time.")] = None,
    rate: Annotated[
        Rate | None,
        typer.Option(parser=to_rate, metavar="N/SPAN", help="So many start in so long: 100/min, 5/1s."),
    ] = None,
    burst: Annotated[
        int | None, typer.Option(metavar="N", help="Of a rate, so many at once; as many as the rate.")
    ] = None,
    depth: Annotated[int | None, typer.Option(metavar="N", help="So many may wait.")] = None,
    budget_cents: Annotated[
        int | None, typer.Option(metavar="N", help="No more is started once this is spent.")
    ] = None,
    warn_cents: Annotated[
        int | None, typer.Option(metavar="N", help="It is recorded once this is spent.")
    ] = None,
    per: Annotated[
        Literal["hour", "day", "week", "month"] | None,
        typer.Option(help="For how long the cents are meant, by UTC; a day."),
    ] = None,
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Limit the jobs that match all of the options, in the whole installation.

    What is not named stays as it was. What runs or waits already is left
    alone.

    Examples:
      windlass limits set --tenant acme --concurrency 10
      windlass limits set --queue mail --rate 100/min --burst 20
      windlass limits set --tenant acme --kind render --depth 5000
      windlass limits set --tenant acme --budget-cents 5000 --warn-cents 4000
    """
    _require_scope(tenant, queue, kind, everything=everything)
    jobs, seconds = (None, None) if rate is None else rate
    with open_client(database_url) as client:
        limit_id = client.set_limit(
            tenant=tenant,
            queue=queue,
            kind=kind,
            concurrency=concurrency,
            rate=jobs,
            per=seconds,
            burst=burst,
            depth=depth,
            budget_cents=budget_cents,
            warn_cents=warn_cents,
            budget_period=per,
            reason=reason,
        )
        (limit,) = [one for one in client.list_limits(tenant=tenant) if one.id == limit_id]
    if as_json:
        print_json(limit)
    else:
        say(f"{limit.scope}: {'; '.join(in_words(limit))}")


@app.command("clear")
def clear_limit(
    tenant: OfTenant = None,
    queue: OfQueue = None,
    kind: OfKind = None,
    everything: Everything = False,
    what: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this: concurrency, rate, depth or budget."),
    ] = None,
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Take back a limit, named by exactly the options it was set for.

    Examples:
      windlass limits clear --tenant acme
      windlass limits clear --queue mail --what rate --reason "relay is back"
    """
    _require_scope(tenant, queue, kind, everything=everything)
    names = split_names(what, "--what")
    if unknown := set(names or ()) - set(LIMITED):
        raise WrongUsage(f"--what is any of {', '.join(LIMITED)}, not {min(unknown)!r}")
    with open_client(database_url) as client:
        cleared = client.clear_limit(tenant=tenant, queue=queue, kind=kind, what=names, reason=reason)
    if as_json:
        print_json({"id": cleared})
    else:
        say(f"cleared {', '.join(names)}" if names else "cleared")


def in_words(limit: Limit) -> Iterator[str]:
    """What a limit says, one sentence for each part of it."""
    if limit.concurrency is not None:
        yield f"at most {limit.concurrency:,} run"
    if limit.rate is not None:
        yield f"at most {_rate(limit)} start"
    if limit.depth is not None:
        yield f"at most {limit.depth:,} wait"
    if limit.budget_cents is not None:
        yield f"at most {limit.budget_cents:,} cents {_each(limit)}"
    if limit.warn_cents is not None:
        yield f"a warning at {limit.warn_cents:,} cents {_each(limit)}"


def again(moment: datetime | None, now: datetime | None) -> str | None:
    """How long until then, as the database sees it."""
    if moment is None or now is None:
        return None
    return f"in {span(max(0.0, (moment - now).total_seconds()))}"


def _each(limit: Limit) -> str:
    return "an hour" if limit.budget_period == "hour" else f"a {limit.budget_period}"


def _rate(limit: Limit) -> str:
    burst = "" if limit.burst == limit.rate else f", {limit.burst:,} at once"
    return f"{limit.rate:,} in {span(limit.rate_seconds or 1)}{burst}"


def _of(used: str | int | None, most: int | None) -> str | None:
    return None if most is None else f"{'?' if used is None else used}/{most}"


def _running(limit: Limit) -> str | None:
    return _of(limit.running, limit.concurrency)


def _tokens(limit: Limit) -> str | None:
    return _of(None if limit.tokens is None else f"{limit.tokens:.1f}", limit.burst)


def _waiting(limit: Limit) -> str | None:
    beyond = limit.waiting is not None and limit.depth is not None and limit.waiting > limit.depth
    return _of(f">{limit.depth}" if beyond else limit.waiting, limit.depth)


def _spent(limit: Limit) -> str | None:
    if limit.budget_period is None:
        return None
    most = limit.warn_cents if limit.budget_cents is None else limit.budget_cents
    return f"{_of(limit.spent_cents, most)} {_each(limit)}"


def _tokens_out(limit: Limit) -> bool:
    return limit.tokens is not None and limit.tokens < 1


def _running_full(limit: Limit) -> bool:
    return limit.concurrency is not None and (limit.running or 0) >= limit.concurrency


def _waiting_full(limit: Limit) -> bool:
    return limit.depth is not None and (limit.waiting or 0) >= limit.depth


def _spent_much(limit: Limit) -> bool:
    marks = [mark for mark in (limit.warn_cents, limit.budget_cents) if mark is not None]
    return bool(marks) and (limit.spent_cents or 0) >= min(marks)


def _paint(reached: Callable[[Limit], bool]) -> Callable[[Limit], str]:
    return lambda limit: "yellow" if reached(limit) else ""


def _require_scope(*parts: str | None, everything: bool) -> None:
    if everything == any(part is not None for part in parts):
        raise WrongUsage("say of what: --tenant, --queue, --kind, or --everything alone")
