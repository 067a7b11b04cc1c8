"""The first thing that anybody sees of Windlass."""

import argparse
import asyncio
import errno
import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from windlass.client import AsyncClient
from windlass.db.embedded import EmbeddedServer
from windlass.db.embedded.bootstrap import OWNER
from windlass.db.migrate import migrate
from windlass.demo.proof import judge, read_evidence
from windlass.demo.scenes import SCENES
from windlass.demo.stage import Stage
from windlass.demo.summary import conclude
from windlass.demo.view import View, open_view
from windlass.demo.workers import Workers
from windlass.errors import WindlassError
from windlass.settings import Settings
from windlass.telemetry import hush_driver

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NEXT = """\
   Nothing was lost. The server, its data and the workers are gone again. To go on:

   README.md        a first job of your own, in 20 lines
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
    for number in _SIGNALS:
        signal.signal(number, signal.default_int_handler)
    hush_driver()  # of the connections that an interruption drops, its pool would speak between the lines
    try:
        with open_view(plain=asked.plain) as view:
            return _run(view)
    except (KeyboardInterrupt, asyncio.CancelledError):
        for number in _SIGNALS:  # the interpreter's own end takes a moment, too
            signal.signal(number, signal.SIG_IGN)
        print("interrupted; nothing is left running", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        _drop_output()
        return 128 + signal.SIGPIPE  # whoever read it has seen enough
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        _drop_output()
        print(f"the demo has no room to write to: {error}", file=sys.stderr)
        return 1
    except WindlassError as error:
        print(f"\nthe demo failed: {error} ({error.code})", file=sys.stderr)
        return 1


def _drop_output() -> None:
    """What is still buffered must not fail once more at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(view: View) -> int:
    began = time.monotonic()
    view.text("Windlass: durable jobs on PostgreSQL. This takes about half a minute.")
    view.scene(
        "A database out of nowhere",
        "A real PostgreSQL, started from a package in a temporary directory; no installation, no superuser.",
    )
    # In memory, where there is room: a busy disk would be all that a newcomer sees for a while.
    with EmbeddedServer.start(ephemeral=True, in_memory=True) as server:
        migrate(server.url(OWNER))
        view.say(f"PostgreSQL {server.major_version} runs, and the schema is installed")
        passed = asyncio.run(_play(server.url(), view))
    view.text(f"\n   That took {time.monotonic() - began:.0f} seconds.")
    view.text(_NEXT if passed else "   Not everything is as it should be: the demo has failed.")
    if passed and (command := _command()) is not None:
        view.text(f"   Here that command is {shlex.quote(str(command))}")
    return 0 if passed else 1


def _command() -> Path | None:
    """Where `windlass` lies, if typing that alone would not find it."""
    command = Path(sys.executable).with_name("windlass")
    return None if shutil.which("windlass") or not command.exists() else command


async def _play(url: str, view: View) -> bool:
    _cancel_on_signals()
    settings = Settings(database_url=url)
    async with (
        AsyncClient(settings, actor="demo") as client,
        Workers(url, view.note, view.overhear) as workers,
    ):
        stage = Stage(client, workers, view)
        for scene in SCENES:
            await scene(stage)
        evidence = await read_evidence(client, await stage.look())
        checks = list(judge(stage.record, evidence))
        conclude(view, evidence, checks, killed=len(workers.killed))
        return all(check.passed for check in checks)


def _cancel_on_signals() -> None:
    """Whatever was opened is closed on the way out, and a second signal does not cut that short."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def stop(*_: object) -> None:
        if task is not None and not task.cancelling() and not loop.is_closed():
            task.cancel()
            loop.call_soon_threadsafe(lambda: None)  # wakes it

    for number in _SIGNALS:  # not by the loop, which would give them back while the server still stops
        signal.signal(number, stop)
