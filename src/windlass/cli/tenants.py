"""`windlass tenants`: who the jobs belong to, and which database roles act for one of them only."""

from collections.abc import Iterator
from typing import Annotated

import typer

from windlass.cli.options import AsJson, DatabaseUrl, Reason
from windlass.cli.output import Column, note, print_json, print_table, say
from windlass.cli.session import open_client
from windlass.cli.text import brief_stamp, stamp
from windlass.cli.tree import listing_group
from windlass.client import SyncClient
from windlass.errors import NotFound
from windlass.model import Tenant

PAGE = 500

Role = Annotated[str, typer.Argument(metavar="ROLE", help="A login role of the database.")]


app = listing_group("See, create and weigh tenants, and bind database roles to them.")


@app.command("list")
def list_tenants(database_url: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """List the tenants with their load.

    Example:
      windlass tenants --json | jq '.items | sort_by(-.ready) | map(.slug)'
    """
    with open_client(database_url) as client:
        tenants = list(_every_tenant(client))
    if as_json:
        print_json({"items": tenants})
        return
    columns: list[Column[Tenant]] = [
        Column("TENANT", lambda tenant: tenant.slug),
        Column("NAME", lambda tenant: tenant.name, wraps=12, spare=3),
        Column("ID", lambda tenant: tenant.id),
        Column("WEIGHT", lambda tenant: tenant.weight, right=True, spare=2),
        Column("READY", lambda tenant: tenant.ready, right=True),
        Column("SCHEDULED", lambda tenant: tenant.scheduled, right=True, spare=1),
        Column("RUNNING", lambda tenant: tenant.running, right=True),
        Column(
            "CREATED",
            lambda tenant: stamp(tenant.created_at),
            brief=lambda tenant: brief_stamp(tenant.created_at),
            spare=4,
        ),
    ]
    print_table(columns, tenants, empty="no tenants")


def _every_tenant(client: SyncClient) -> Iterator[Tenant]:
    page = client.list_tenants(limit=PAGE)
    yield from page
    while page.next_cursor is not None:
        page = client.list_tenants(limit=PAGE, cursor=page.next_cursor)
        yield from page


@app.command("create")
def create_tenant(
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="Its short name in commands.")],
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Its full name.")] = None,
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Create a tenant, and print its id; the same again changes nothing.

    Example:
      windlass tenants create acme --name "Acme Ltd"
    """
    with open_client(database_url) as client:
        created = not _exists(client, slug)
        tenant_id = client.create_tenant(slug, name, reason=reason)
    if as_json:
        print_json({"id": tenant_id, "slug": slug, "created": created})
        return
    if not created:
        note(f"the slug {slug!r} is taken: this is the tenant that was there before")
    say(str(tenant_id))


def _exists(client: SyncClient, slug: str) -> bool:
    try:
        client.find_tenant(slug)
    except NotFound:
        return False
    return True


@app.command("set")
def set_tenant(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="Slug or id.")],
    weight: Annotated[int, typer.Option(metavar="N", help="Jobs per turn, 1 to 1000.")],
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Give a tenant another weight: where tenants take turns, it gets so many jobs each time.

    Example:
      windlass tenants set acme --weight 3 --reason "paid plan"
    """
    with open_client(database_url) as client:
        client.set_tenant(tenant, weight=weight, reason=reason)
    if as_json:
        print_json({"tenant": tenant, "weight": weight})
    else:
        say(f"{tenant} weighs {weight}")


@app.command("bind")
def bind_role(
    role: Role,
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="Slug or id.")],
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Bind a database role to one tenant: it can name no other from then on.

    Example:
      windlass tenants bind acme_worker acme
    """
    with open_client(database_url) as client:
        client.bind_role(role, tenant, reason=reason)
    if as_json:
        print_json({"role": role, "tenant": tenant})
    else:
        say(f"{role} acts for {tenant} only")


@app.command("unbind")
def unbind_role(
    role: Role, reason: Reason = None, database_url: DatabaseUrl = None, as_json: AsJson = False
) -> None:
    """Let a bound database role name any tenant again.

    Example:
      windlass tenants unbind acme_worker
    """
    with open_client(database_url) as client:
        tenant_id = client.unbind_role(role, reason=reason)
        slugs = [tenant.slug for tenant in _every_tenant(client) if tenant.id == tenant_id]
    if as_json:
        print_json({"role": role, "tenant_id": tenant_id, "tenant": next(iter(slugs), None)})
    else:
        say(f"{role} is bound no longer; it acted for {next(iter(slugs), tenant_id)}")
