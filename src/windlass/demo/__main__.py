"""`python -m windlass.demo`: the first thing that anybody sees of Windlass."""

import argparse
import asyncio
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from windlass.client import AsyncClient
from windlass.db.embedded import Database, ensure_server
from windlass.db.migrate import migrate
from windlass.demo.proof import judge, read_evidence
from windlass.demo.scenes import SCENES
from windlass.demo.stage import Stage
from windlass.demo.summary import conclude
from windlass.demo.view import View, open_view
from windlass.demo.workers import Workers
from windlass.errors import WindlassError
from windlass.settings import Settings

_NEXT = """\
   Nothing was lost. The server, its data and the workers are gone again. To go on:

   README.md        a first job of your own, in 15 lines
   windlass up      the same server, to stay; with --app module:app also a worker for your jobs
   windlass --help  all commands
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the story; 0 if the database confirms all of it."""
    parser = argparse.ArgumentParser(
        prog="./run demo", description="Jobs that survive, shown on a temporary PostgreSQL with real workers."
    )
    parser.add_argument("--plain", action="store_true", help="lines only, also on a terminal")
    asked = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with open_view(plain=asked.plain) as view:
            return _run(view)
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("interrupted; nothing is left running", file=sys.stderr)
        return 128 + signal.SIGINT
    except WindlassError as error:
        print(f"\nthe demo failed: {error} ({error.code})", file=sys.stderr)
        return 1


def _run(view: View) -> int:
    began = time.monotonic()
    view.text("Windlass: durable jobs on PostgreSQL. This takes about half a minute.")
    view.scene(
        "A database out of nowhere",
        "A real PostgreSQL, started from a package in a temporary directory; no installation, no superuser.",
    )
    # Nothing of the environment: what is set there belongs to somebody's real installation.
    with ensure_server(ephemeral=True, environ={}) as database:
        migrate(database.owner_url)
        view.say(f"PostgreSQL {_version(database)} runs, and the schema is installed")
        passed = asyncio.run(_play(database, view))
    view.text(f"\n   That took {time.monotonic() - began:.0f} seconds.")
    view.text(_NEXT if passed else "   Not everything is as it should be: the demo has failed.")
    if passed and (command := _command()) is not None:
        view.text(f"   Here that command is {command}")
    return 0 if passed else 1


def _command() -> Path | None:
    """Where `windlass` lies, if typing that alone would not find it."""
    command = Path(sys.executable).with_name("windlass")
    return None if shutil.which("windlass") or not command.exists() else command


def _version(database: Database) -> str:
    return "" if database.server is None else str(database.server.major_version)


async def _play(database: Database, view: View) -> bool:
    _cancel_on_signals()
    settings = Settings(database_url=database.app_url)
    async with (
        AsyncClient(settings, actor="demo") as client,
        Workers(database.app_url, view.note, view.overhear) as workers,
    ):
        stage = Stage(client, workers, view)
        for scene in SCENES:
            await scene(stage)
        evidence = await read_evidence(client, await stage.look())
        checks = list(judge(stage.record, evidence))
        conclude(view, evidence, checks, killed=len(workers.killed))
        return all(check.passed for check in checks)


def _cancel_on_signals() -> None:
    """As Ctrl-C does: whatever was opened is closed on the way out."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if task is not None:
            loop.add_signal_handler(number, task.cancel)


if __name__ == "__main__":
    sys.exit(main())
