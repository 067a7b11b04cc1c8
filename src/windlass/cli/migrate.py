"""`windlass migrate`: bring a database to the schema of this release."""

from typing import Annotated, Any

import typer

from windlass.cli.options import AsJson, DatabaseUrl, WrongUsage
from windlass.cli.output import note, print_json, say
from windlass.cli.session import read_settings
from windlass.cli.tree import single
from windlass.errors import Forbidden, WindlassError

app = single()


@app.command()
def migrate(
    sql: Annotated[bool, typer.Option("--sql", help="Print the script; connect to nothing.")] = False,
    since: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --sql: only what comes after this migration."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 8 if something is missing.")
    ] = False,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Bring the database to the schema of this release; a second time changes nothing.

    The role in the URL must be allowed to act as windlass_owner. Without a URL
    the embedded server is migrated, and started for it if it does not run.

    Examples:
      windlass migrate
      windlass migrate --check
      windlass migrate --sql | psql -v ON_ERROR_STOP=1 "$ADMIN_URL"
    """
    if (sql and check) or (since and not sql):
        raise WrongUsage("--sql and --check exclude each other, and --since needs --sql")
    if sql:
        _print_script(since, as_json=as_json)
    elif check:
        _check(database_url, as_json=as_json)
    else:
        _migrate(database_url, as_json=as_json)


def _print_script(since: str | None, *, as_json: bool) -> None:
    from windlass.db.migrate import render_sql

    script = render_sql(since=since)
    if as_json:
        print_json({"sql": script})
    else:
        print(script, end="" if script.endswith("\n") else "\n")


def _check(database_url: str | None, *, as_json: bool) -> None:
    from windlass.client.locate import require_database
    from windlass.db.connect import connect
    from windlass.db.embedded import ensure_server

    settings = read_settings(database_url)
    require_database(settings)
    with (
        ensure_server(settings.database_url, data_dir=settings.data_dir, bin_dir=settings.pg_bin) as database,
        connect(database.app_url, application_name="windlass migrate") as connection,
    ):
        compare_schema(connection)
    if as_json:
        print_json({"up_to_date": True})
    else:
        say("The schema is that of this release.")


def compare_schema(connection: Any) -> None:
    """Look with the rights of this role, or, as whoever migrates may have no others, with the owner's."""
    from windlass.db.connect import translated
    from windlass.db.schema import check_schema

    try:
        check_schema(connection)
    except Forbidden as refused:
        with connection.transaction():  # a role must not outlive it: behind a pooler the session is not ours
            try:
                with translated():
                    connection.execute("set local role windlass_owner")
            except WindlassError:
                raise refused from None
            check_schema(connection)


def _migrate(database_url: str | None, *, as_json: bool) -> None:
    from windlass.db.embedded import ensure_server
    from windlass.db.migrate import migrate as bring_up

    settings = read_settings(database_url)
    with ensure_server(
        settings.database_url, data_dir=settings.data_dir, bin_dir=settings.pg_bin
    ) as database:
        data_dir = None if database.server is None else database.server.data_dir
        if data_dir is not None and not as_json:
            note(f"the embedded server in {data_dir}")
        report = bring_up(database.owner_url)
    if as_json:
        done = {"changed": report.changed, "applied": report.applied, "code_replaced": report.code_replaced}
        print_json({**done, "data_dir": data_dir})
        return
    for name in report.applied:
        say(f"applied {name}")
    if report.code_replaced:
        say("installed the functions of this release")
    if not report.changed:
        say("Nothing to do: the schema is that of this release.")
