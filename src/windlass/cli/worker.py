"""`windlass worker`: run the jobs of an application."""

from windlass.cli import process
from windlass.cli.options import AppName, AsJson, DatabaseUrl
from windlass.cli.tree import single

app = single()


@app.command()
def worker(
    application: AppName,
    queues: process.Queues = None,
    concurrency: process.Concurrency = None,
    lease: process.LeaseSeconds = None,
    grace: process.GraceSeconds = None,
    name: process.Name = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Run the jobs of an application until told to stop.

    Only its own kinds are claimed; the module may lie in the current
    directory. With --json one line says when it is ready.

    SIGTERM, Ctrl-C or a closed terminal: stop claiming, let attempts finish
    within the grace period, give back the rest, exit with 0. Once more: at
    once. Under nohup a closed terminal changes nothing.

    Example:
      windlass worker shop.jobs:app --queues default,mail --concurrency 20
    """
    process.run(
        process.load(application, database_url),
        database_url,
        whole=False,
        as_json=as_json,
        queues=queues,
        concurrency=concurrency,
        lease_seconds=lease,
        grace_seconds=grace,
        node_name=name,
    )
