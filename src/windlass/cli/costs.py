"""`windlass costs`: what jobs cost, added up."""

from collections.abc import Sequence
from datetime import UTC, date, timedelta
from typing import Annotated

import typer

from windlass.cli.options import AsJson, DatabaseUrl, TenantName, WrongUsage, split_names, to_span
from windlass.cli.output import Column, note, print_json, print_table, say
from windlass.cli.session import open_client, resolve_moment
from windlass.cli.tree import single
from windlass.client import SyncClient
from windlass.model.cost import Cost, Costs

app = single()

_BY = ("tenant", "queue", "kind", "day")


def to_day(text: str) -> date | timedelta:
    """A day of UTC, or a length of time that is counted back from today."""
    if text[:4].isdecimal() and text[4:5] == "-":
        try:
            return date.fromisoformat(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not a day such as 2030-01-31") from None
    try:
        return to_span(text)
    except typer.BadParameter:
        raise typer.BadParameter(
            f"{text!r} is neither a day such as 2030-01-31 nor a length of time such as 30d"
        ) from None


@app.command("costs")
def list_costs(
    by: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Any of tenant, queue, kind and day.")
    ] = None,
    since: Annotated[
        date | None, typer.Option(parser=to_day, metavar="DAY", help="From this day on, or so long ago: 30d.")
    ] = None,
    until: Annotated[
        date | None, typer.Option(parser=to_day, metavar="DAY", help="Before this day, or so long ago.")
    ] = None,
    queue: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only of these queues.")] = None,
    kind: Annotated[list[str] | None, typer.Option(metavar="KIND", help="Only of these kinds.")] = None,
    all_tenants: Annotated[bool, typer.Option("--all-tenants", help="Of every tenant.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="At most so many lines.")] = 1000,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """See what jobs cost, by kind, day, queue or tenant, in cents.

    Days are those of UTC. Sums stay when the jobs are no longer kept.

    Examples:
      windlass costs
      windlass costs --by kind,day --since 30d
      windlass costs --all-tenants --by tenant --since 2030-01-01
    """
    if all_tenants and tenant is not None:
        raise WrongUsage("--tenant and --all-tenants exclude each other")
    names = split_names(by, "--by") or (["tenant", "kind"] if all_tenants else ["kind"])
    if unknown := set(names) - set(_BY):
        raise WrongUsage(f"costs are added up by {', '.join(_BY)}, not by {min(unknown)!r}")
    with open_client(database_url, tenant) as client:
        costs = client.list_costs(
            by=names,
            since=_resolve(client, since),
            until=_resolve(client, until),
            queues=split_names(queue, "--queue"),
            kinds=split_names(kind, "--kind"),
            limit=limit,
            all_tenants=all_tenants,
        )
    if as_json:
        print_json({"items": costs.items, "cents": costs.cents, "entries": costs.entries, "more": costs.more})
    else:
        _print_costs(costs, names)


def _resolve(client: SyncClient, given: date | timedelta | None) -> date | None:
    if not isinstance(given, timedelta):
        return given
    moment = resolve_moment(client, given, -1)
    return None if moment is None else moment.astimezone(UTC).date()


def _print_costs(costs: Costs, names: Sequence[str]) -> None:
    columns = [_column(name) for name in ("day", "tenant", "queue", "kind") if name in names]
    columns += [
        Column("ENTRIES", lambda cost: f"{cost.entries:,}", right=True),
        Column("CENTS", lambda cost: f"{cost.cents:,}", right=True),
    ]
    print_table(columns, costs.items, empty="no costs")
    if costs.items:
        say()
        say(f"total  {costs.cents:,} cents in {costs.entries:,} entries")
        if costs.more:
            note(f"There are more lines than these {len(costs)}, all of them in the total: see --limit.")


def _column(name: str) -> Column[Cost]:
    return Column(name.upper(), lambda cost: getattr(cost, name))
