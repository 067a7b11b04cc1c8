"""Groups of commands such as `queues`, where the bare noun lists."""

from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["make_group"]


class ListingGroup(TyperGroup):
    """`windlass queues --json` is `windlass queues list --json`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def make_group(app: typer.Typer, name: str, help: str) -> typer.Typer:
    """A group of commands named by a noun; one of them must be called list."""
    group = typer.Typer(cls=ListingGroup, help=help, rich_markup_mode="rich")
    app.add_typer(group, name=name)
    return group
