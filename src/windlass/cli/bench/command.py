"""The command itself."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from windlass.cli.options import AsJson, DatabaseUrl, WrongUsage, Yes
from windlass.cli.output import note, print_json, say
from windlass.cli.session import open_client, read_settings
from windlass.cli.tree import single

app = single()

TITLES = {
    "W1": "single enqueue, one at a time",
    "W2": "bulk enqueue",
    "W3": "drain, one worker process",
    "W4": "pickup by an idle worker",
}


@app.command()
def bench(
    jobs: Annotated[
        int, typer.Option(min=100, max=200_000, metavar="N", help="Jobs to enqueue in bulk.")
    ] = 10_000,
    paced: Annotated[
        int, typer.Option(min=10, max=2_000, metavar="N", help="Jobs for the idle worker, one each 50 ms.")
    ] = 100,
    concurrency: Annotated[
        int, typer.Option(min=1, max=10_000, metavar="N", help="Of the worker that is started for it.")
    ] = 200,
    yes: Yes = False,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Measure enqueue, drain and pickup on this database, with jobs that do nothing.

    It says first what it will do, and asks. The jobs belong to a tenant and
    a queue of their own, both called windlass-bench; a worker process is
    started for them and ends with the command. Finished jobs stay until
    they are as old as others that succeeded; whatever an interruption leaves
    in line is canceled.

    Every job must be recorded as succeeded at the end, or the command fails.

    Examples:
      windlass bench
      windlass bench --jobs 100000 --yes --json
    """
    from windlass.cli.bench.measure import Bench
    from windlass.client import database_url as resolve

    settings = read_settings(database_url)
    total = jobs + max(5, jobs // 20) + paced + 10
    if not as_json or not yes:
        note(
            f"This enqueues {total:,} jobs that do nothing, into the tenant and the queue windlass-bench, and"
            " starts a worker for them; their records are kept as long as those of other jobs that succeeded."
        )
    if not yes and not _confirm():
        raise typer.Abort
    with open_client(database_url) as client:
        run = Bench(client, jobs)
        run.prepare()
        try:
            with telling() as tell:
                found = run.measure(resolve(settings), concurrency, paced, tell)
        finally:
            if left := run.cancel_waiting(run.run):
                note(f"canceled {left:,} jobs that were still in line")
    _print(found, as_json=as_json)


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Something to be told how far it is: shown where somebody watches, and dropped anywhere else."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    with Console(stderr=True).status("measuring") as line:
        yield line.update


def _confirm() -> bool:
    if not sys.stdin.isatty():
        raise WrongUsage("there is nobody to ask: say --yes")
    return typer.confirm("Go on?", err=True)


def _print(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    for name, title in TITLES.items():
        figures = found[name]
        if "value" in figures:
            text = f"{figures['value']:,.0f} {figures['unit']}"
        else:
            text = f"p50 {figures['p50']:.1f} ms, p99 {figures['p99']:.1f} ms"
        say(f"{name}  {title:<32} {text}")
    say(f"{found['succeeded']:,} jobs enqueued, and all of them recorded as succeeded")
    if found["ran_again"]:
        say(f"{found['ran_again']:,} of them ran more than once")
