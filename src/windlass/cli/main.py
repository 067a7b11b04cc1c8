"""The tree of commands, and the one place where an error becomes an exit code."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Self

import typer
from typer.main import get_command

from windlass.cli.exits import CODES_HELP, FULL, Exit, describe, exit_code, report
from windlass.cli.options import AsJson, DatabaseUrl, TenantName
from windlass.cli.tree import CommandTree, common_last
from windlass.telemetry import hush_driver

__all__ = ["app", "run"]

DEBUG = "WINDLASS_DEBUG"

app = typer.Typer(
    name="windlass",
    cls=CommandTree,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog=CODES_HELP,
)


@app.callback()
def windlass(
    debug: Annotated[
        bool, typer.Option("--debug", help=f"Show where an error happened; also {DEBUG}=1.")
    ] = False,
    as_json: AsJson = False,
    database_url: DatabaseUrl = None,
    tenant: TenantName = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the versions, as the command version does.")
    ] = False,
) -> None:
    """Durable jobs on PostgreSQL: hand over work, run it, watch it, mend it.

    Without WINDLASS_DATABASE_URL the commands use the embedded server that `windlass up` runs.

    The common options may stand before a command or behind it.
    """


@dataclass(frozen=True, slots=True)
class Line:
    """A command line, and what it says about errors wherever that stands in it."""

    words: list[str]
    as_json: bool
    debug: bool

    @classmethod
    def read(cls, arguments: Sequence[str], *, debug: bool) -> Self:
        words = list(arguments)
        end = words.index("--") if "--" in words else len(words)
        options = words[:end]
        without = [word for word in options if word != "--debug"]
        told = debug or len(without) < len(options)
        return cls(common_last(without + words[end:]), "--json" in options, told)

    def fail(self, error: BaseException) -> int:
        code, message, details = describe(error)
        shown = error if self.debug else None
        if told := report(code, message, details, as_json=self.as_json, error=shown):
            print(told, file=sys.stderr)
        return exit_code(code)


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line; the exit code."""
    # Read here too: what is wrong with the settings is itself to be shown.
    debug = os.environ.get(DEBUG, "").lower() in ("1", "true", "t", "yes", "y", "on")
    line = Line.read(arguments, debug=debug)
    hush_driver()
    try:
        code = get_command(app).main(args=line.words, prog_name="windlass", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else Exit.OK
    except (BrokenPipeError, SystemExit) as end:
        if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):
            raise  # else the parser has met it, and would end the process
        _drop_output()
        return Exit.OUTPUT_CLOSED  # whoever read it has seen enough
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL:
            _drop_output()
        return line.fail(error)


def _drop_output() -> None:
    """What is still buffered must not fail once more at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
