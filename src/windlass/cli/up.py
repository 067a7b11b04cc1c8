"""`windlass up`: everything that is needed, in one process."""

from typing import Annotated

import typer

from windlass.app import Windlass
from windlass.cli import process
from windlass.cli.options import AsJson, DatabaseUrl
from windlass.cli.tree import single

app = single()


@app.command()
def up(
    application: Annotated[
        str | None,
        typer.Option("--app", metavar="MODULE:APP", help="Also run the jobs of this application."),
    ] = None,
    queues: process.Queues = None,
    concurrency: process.Concurrency = None,
    grace: process.GraceSeconds = None,
    name: process.Name = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Run everything on this machine: embedded server, maintenance, worker.

    Without a database URL the embedded server is started, or joined if it
    runs and taken over if its owner ends, and its schema brought to this
    release; the schema of a database that is given is only checked. Without
    --app no jobs are run but those of Windlass itself, such as redrives;
    leases are recovered and old jobs removed.

    SIGTERM, Ctrl-C or a closed terminal: stop claiming, let attempts finish
    within the grace period, give back the rest, stop the server. Once more:
    at once. Under nohup a closed terminal changes nothing.

    Examples:
      windlass up
      windlass up --app shop.jobs:app --queues default,mail --concurrency 20
    """
    process.run(
        Windlass() if application is None else process.load(application, database_url),
        database_url,
        whole=True,
        as_json=as_json,
        queues=queues,
        concurrency=concurrency,
        grace_seconds=grace,
        node_name=name,
    )
