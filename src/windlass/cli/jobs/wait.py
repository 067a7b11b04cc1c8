"""`windlass jobs wait`: until a job has ended, then its result."""

from typing import Annotated

import typer

from windlass.cli.options import AsJson, DatabaseUrl, JobId, TenantName, to_seconds
from windlass.cli.output import print_json, say
from windlass.cli.progress import waiting
from windlass.cli.session import open_client
from windlass.cli.text import pretty

PATIENCE_SECONDS = 60.0


def add_to(group: typer.Typer) -> None:
    group.command("wait")(wait_job)


def wait_job(
    job_id: JobId,
    timeout: Annotated[
        float | None,
        typer.Option(parser=to_seconds, metavar="SPAN", help="Give up after so long: 90, 5m, 1h30m."),
    ] = None,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Wait until a job has ended, and print its result.

    Exits with 9 if it ended otherwise than succeeded, with 10 if the time was
    up before.

    Example:
      windlass jobs wait "$id" --timeout 5m
    """
    # Somebody who waits outlasts a restart of the database.
    with open_client(database_url, tenant, patience=PATIENCE_SECONDS) as client, waiting(f"job {job_id}"):
        result = client.wait_job(job_id, timeout=timeout)
    if as_json:
        print_json({"id": job_id, "state": "succeeded", "result": result})
    else:
        say(pretty(result))
