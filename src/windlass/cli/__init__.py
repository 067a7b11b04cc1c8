"""The command `windlass`: parses, calls, prints.  What it does is decided elsewhere."""

import io
import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process and end it."""
    _fill_standard_streams()
    try:
        import rich
        import typer
    except ModuleNotFoundError as error:
        sys.exit(f"windlass: {error.name} is not installed: pip install 'windlass-jobs[cli]'")
    del rich, typer
    from windlass.cli.main import run

    _escape_what_cannot_be_shown()
    sys.exit(run(sys.argv[1:]))


def _escape_what_cannot_be_shown() -> None:
    """A payload may hold what the terminal's encoding lacks; that must not end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # either may be closed, or somebody's own
            stream.reconfigure(errors="backslashreplace")


def _fill_standard_streams() -> None:
    """Where a standard stream is closed there is nothing to read, and nobody who reads.

    Else the next descriptor that is opened, such as a connection, would be taken for it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is this one.  Child processes are to have it too.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
