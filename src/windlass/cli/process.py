"""A node as a command runs it: whose jobs, with which settings, and what it says once it is ready."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from windlass.app import Windlass
from windlass.cli.load import load_app
from windlass.cli.options import split_names, to_seconds
from windlass.cli.output import print_fields, print_lines
from windlass.client import programs_dir
from windlass.errors import InvalidInput
from windlass.node import Node, run_node
from windlass.settings import Settings, masked_url
from windlass.telemetry import configure_logging

__all__ = ["Concurrency", "GraceSeconds", "LeaseSeconds", "Name", "Queues", "load", "psql_line", "run"]

_OPTIONS = {
    "concurrency": "--concurrency",
    "grace_seconds": "--grace",
    "lease_seconds": "--lease",
    "node_name": "--name",
    "queues": "--queues",
}
Queues: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--queues", metavar="NAMES", help="From which queues, as in a,b; WINDLASS_QUEUES."),
]
Concurrency: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", help="How many jobs at a time; WINDLASS_CONCURRENCY.")
]
LeaseSeconds: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--lease", parser=to_seconds, metavar="SPAN", help="How long a lease lasts; WINDLASS_LEASE_SECONDS."
    ),
]
GraceSeconds: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--grace",
        parser=to_seconds,
        metavar="SPAN",
        help="How long attempts may go on; WINDLASS_GRACE_SECONDS.",
    ),
]
Name: TypeAlias = Annotated[
    str | None, typer.Option(metavar="TEXT", help="What the node is called; WINDLASS_NODE_NAME.")
]


def load(name: str, database_url: str | None) -> Windlass:
    """The application, and handlers that find the same database as the node."""
    if database_url is not None:
        os.environ["WINDLASS_DATABASE_URL"] = database_url
    app = load_app(name)
    named = app.settings.database_url
    if database_url is not None and named is not None and named != database_url:
        raise InvalidInput(
            f"{name} names a database itself, and --database-url another: where would handlers enqueue?",
            hint="Leave one of them out.",
        )
    if not _kinds(app):
        raise InvalidInput(f"{name} has no jobs: put @app.job over the functions that are to run")
    return app


def run(
    app: Windlass,
    database_url: str | None,
    *,
    whole: bool,
    as_json: bool,
    queues: list[str] | None = None,
    **overrides: Any,
) -> None:
    """Run a node until told to stop; `whole` also starts the embedded server and keeps its schema up to date.

    The schema of a database that was given is only checked: who runs jobs there should not own its tables.
    """
    said = {"database_url": database_url, "queues": split_names(queues, "--queues"), **overrides}
    given = {name: value for name, value in said.items() if value is not None}
    try:
        settings = Settings.from_env({}, **{**app.settings.model_dump(), **given})
    except InvalidInput as error:
        raise _as_written(error) from None
    configure_logging(settings.log_format, settings.log_level, worker_id=settings.node_name)
    run_node(
        settings,
        app,
        start_server=whole,
        migrates=whole and settings.database_url is None,
        ready=lambda node: _announce(node, app, settings, as_json=as_json),
    )


def _as_written(error: InvalidInput) -> InvalidInput:
    """The refusal of a setting, by the name of the option that gave it."""
    setting = str(error.details.get("setting"))
    option = _OPTIONS.get(setting)
    if option is None or not error.message.startswith(f"{setting} "):
        return error
    return InvalidInput(option + error.message.removeprefix(setting), **error.details)


def _kinds(app: Windlass) -> list[str]:
    """What a node runs of an application; there may be nothing but cluster jobs in it."""
    return sorted((*app.registry.kinds(), *app.cluster.names()))


def _announce(node: Node, app: Windlass, settings: Settings, *, as_json: bool) -> None:
    """Say what is ready, at once: a script may wait for it."""
    server, worker = node.server, node.worker
    if as_json:
        print_lines(
            [
                {
                    "node_id": None if worker is None else worker.node_id,
                    "node_name": settings.node_name,
                    "pid": os.getpid(),
                    "kinds": _kinds(app),
                    "queues": settings.queues,
                    "concurrency": settings.concurrency,
                    "database_url": masked_url(node.url),
                    "data_dir": None if server is None else server.data_dir,
                    "server_started": server is not None and server.owner,
                }
            ]
        )
    else:
        print_fields(_lines(node, app, settings))
    sys.stdout.flush()


def _lines(node: Node, app: Windlass, settings: Settings) -> list[tuple[str, object]]:
    server, kinds = node.server, ", ".join(_kinds(app))
    lines: list[tuple[str, object]] = []
    if server is not None:
        owner = "started here" if server.owner else "found running; goes on here if its owner ends"
        lines.append(("server", f"PostgreSQL {server.major_version} in {server.data_dir}, {owner}"))
        lines.append(("log", server.log_path))
    lines.append(("connect", psql_line(programs_dir(settings), node.url)))
    if kinds:
        where = f"from {', '.join(settings.queues)}, {settings.concurrency} at a time"
        lines.append(("worker", f"{settings.node_name} runs {kinds} {where}"))
    else:
        own = "runs Windlass's own jobs alone, such as redrives, and keeps the database in order"
        lines.append(("worker", f"{settings.node_name} {own}"))
        lines.append(("", "windlass up --app MODULE:APP runs those of an application too, and so does"))
        lines.append(("", "windlass worker MODULE:APP beside this node"))
    return lines


def psql_line(bin_dir: Path | None, url: str) -> str:
    """What to type in a shell to get in, with the psql of the embedded server where there is one."""
    found = None if bin_dir is None else shutil.which("psql", path=str(bin_dir))
    return shlex.join([found or "psql", masked_url(url)])
