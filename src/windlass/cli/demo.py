"""`windlass demo`: what `./run demo` shows, from an installed package."""

from typing import Annotated

import typer

from windlass.cli.tree import single

app = single()


@app.command()
def demo(
    plain: Annotated[bool, typer.Option("--plain", help="Lines only, also on a terminal.")] = False,
) -> None:
    """Watch jobs survive failures and kills, on a server of its own.

    Takes about half a minute; nothing is left running, and nothing stays on
    the disk.

    Example:
      windlass demo --plain
    """
    from windlass.demo.main import main

    raise typer.Exit(main(["--plain"] if plain else []))
