"""The command `windlass`: parses, calls, prints.  What it does is decided elsewhere."""

import io
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process and end it."""
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
