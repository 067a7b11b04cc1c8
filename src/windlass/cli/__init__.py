"""The command `windlass`: parses, calls, prints.  What it does is decided elsewhere."""

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

    sys.exit(run(sys.argv[1:]))
