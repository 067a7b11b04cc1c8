"""Which commands there are; a command's module is imported when that command runs, so that help is quick."""

import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

__all__ = ["COMMANDS", "CommandTree", "Entry", "common_last", "listing_group", "load_command", "single"]


class Entry(NamedTuple):
    """A command as the overview shows it; its module has the command itself as `app`."""

    name: str
    module: str
    panel: str
    help: str


_RUN, _WORK, _OPERATE, _INSTALL = "Run", "Jobs", "Operate", "Install"

COMMANDS = (
    Entry("up", "up", _RUN, "Run everything on this machine: embedded server, maintenance, worker."),
    Entry("worker", "worker", _RUN, "Run the jobs of an application until told to stop."),
    Entry("demo", "demo", _RUN, "Watch jobs survive failures and kills, on a server of its own."),
    Entry("enqueue", "enqueue", _WORK, "Enqueue a job, and print its id."),
    Entry("cluster", "cluster", _WORK, "Hand over work that every node does, and that its leader finishes."),
    Entry("jobs", "jobs", _WORK, "Find jobs, look at one, and mend what went wrong."),
    Entry("redrives", "redrives", _WORK, "See the redrives that run as jobs, and stop one."),
    Entry("queues", "queues", _OPERATE, "See what waits where, and say how tenants share a queue."),
    Entry("tenants", "tenants", _OPERATE, "See, create and weigh tenants, and bind database roles to them."),
    Entry("gates", "gates", _OPERATE, "Pause a part of the work, or all of it, and let it go on."),
    Entry("limits", "limits", _OPERATE, "Limit how many jobs run, start or wait, and what they may cost."),
    Entry("costs", "costs", _OPERATE, "See what jobs cost, by kind, day, queue or tenant."),
    Entry(
        "nodes",
        "nodes",
        _OPERATE,
        "List the nodes, and what each of them is running.",
    ),
    Entry("audit", "audit", _OPERATE, "Read who did what and why, and check that nobody has changed it."),
    Entry("top", "top", _OPERATE, "Watch queues, nodes and tenants: what waits, what runs, and where."),
    Entry("doctor", "doctor", _OPERATE, "Examine the installation, and say what to do about it."),
    Entry(
        "bench",
        "bench",
        _OPERATE,
        "Measure enqueue, drain and pickup on this database, with jobs that do nothing.",
    ),
    Entry("migrate", "migrate", _INSTALL, "Bring the database to the schema of this release."),
    Entry("version", "version", _INSTALL, "Print the version of Windlass, and of what it stands on."),
)


def load_command(entry: Entry) -> Any:
    """The command itself."""
    module = importlib.import_module(f"windlass.cli.{entry.module}")
    command = get_command(module.app)
    command.name = entry.name
    return command


# Options that every command takes, and how many words follow each.
_COMMON = {"--json": 0, "--database-url": 1, "--tenant": 1}


def common_last(words: Sequence[str]) -> list[str]:
    """The words of a command line with common options that stand before the command moved behind it."""
    place = 0
    while place < len(words) and (name := words[place].partition("=")[0]) in _COMMON:
        place += 1 if "=" in words[place] else 1 + _COMMON[name]
    ahead, rest = list(words[:place]), list(words[place:])
    if rest[:1] == ["--version"]:
        rest[0] = "version"  # many look for it there
    if not rest or rest[0].startswith("-"):
        return list(words)
    end = rest.index("--") if "--" in rest else len(rest)
    return rest[:end] + ahead + rest[end:]


class CommandTree(TyperGroup):
    """Shows every command by its entry, and imports the one that is used."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for entry in COMMANDS:
            shown = TyperCommand(entry.name, help=entry.help, rich_help_panel=entry.panel)
            self.commands[entry.name] = shown

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, shown, rest = super().resolve_command(ctx, args)
        entry = next((entry for entry in COMMANDS if entry.name == name), None)
        return name, shown if entry is None else _without_flag_types(load_command(entry), ctx), rest

    def get_params(self, ctx: Any) -> list[Any]:
        return [_without_type(parameter) for parameter in super().get_params(ctx)]


def _without_flag_types(command: Any, ctx: Any) -> Any:
    """The command, and those below it, with help that shows no type where there is no value to write."""
    command.params = [_without_type(parameter) for parameter in command.params]
    _without_type(command.get_help_option(ctx))
    for inner in getattr(command, "commands", {}).values():
        _without_flag_types(inner, ctx)
    return command


def _without_type(parameter: Any) -> Any:
    if getattr(parameter, "is_flag", False):
        parameter.metavar = ""
    return parameter


class ListingGroup(TyperGroup):
    """A group such as `queues`, where the bare noun lists: `queues --json` is `queues list --json`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        moved = common_last(args)
        if moved and moved[0] in self.commands:
            args = moved
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def single() -> typer.Typer:
    """For a module with one command."""
    return typer.Typer(add_completion=False)


def listing_group(help: str) -> typer.Typer:
    """For a module with several commands, one of them called list."""
    return typer.Typer(cls=ListingGroup, help=help, add_completion=False)
