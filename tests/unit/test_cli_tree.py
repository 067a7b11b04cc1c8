"""Every command is in the overview, explains itself, speaks JSON and is documented."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import windlass
from windlass.cli.main import run
from windlass.cli.tree import COMMANDS, Entry, load_command

DOCUMENTED = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()


def leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for word, inner in command.commands.items():
            yield from leaves(f"{name} {word}", inner)
    else:
        yield name, command


LEAVES = [leaf for entry in COMMANDS for leaf in leaves(entry.name, load_command(entry))]


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_the_overview_says_what_the_command_says(entry: Entry) -> None:
    told = load_command(entry).help.partition("\n\n")[0].replace("\n", " ")
    shared = entry.help.rstrip(".")
    assert told.startswith(shared), told


@pytest.mark.parametrize(("name", "command"), LEAVES, ids=[name for name, _ in LEAVES])
def test_every_command_explains_itself(name: str, command: Any) -> None:
    options = {option for parameter in command.params for option in parameter.opts}
    assert all(parameter.help for parameter in command.params), name
    assert "Example" in command.help, name
    assert f"windlass {name.split(maxsplit=1)[0]}" in DOCUMENTED
    assert name.rsplit(maxsplit=1)[-1] in DOCUMENTED
    if name != "demo":
        assert "--json" in options
    if name not in ("demo", "version"):
        assert "--database-url" in options
    # After the first paragraph lines are shown as they stand, so they must fit into 80 columns.
    assert all(len(line) <= 78 for line in command.help.partition("\n\n")[2].splitlines()), name


@pytest.mark.parametrize(("name", "command"), LEAVES, ids=[name for name, _ in LEAVES])
def test_no_square_brackets_are_taken_for_markup(name: str, command: Any) -> None:
    assert "[" not in command.help.replace(".findings[]", ""), name


@pytest.mark.parametrize("words", [[], ["jobs"], ["jobs", "list"], ["up"]])
def test_help_shows_no_type_of_flags(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--help" in shown
    assert "bool" not in shown


@pytest.mark.parametrize(
    "words", [["--version"], ["--debug", "--version"], ["--version", "--json"], ["--json", "--version"]]
)
def test_the_version_is_found_where_others_have_it(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([word.replace("--version", "version") for word in words]) == 0
    version = capsys.readouterr().out
    assert windlass.__version__ in version
    assert run(words) == 0
    assert capsys.readouterr().out == version
    assert run(["--help"]) == 0
    assert "--version" in capsys.readouterr().out


def test_help_imports_no_command() -> None:
    script = (
        "import sys; sys.argv = ['windlass', '--help']\n"
        "from windlass.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: print('exit', end.code)\n"
        "print(sorted(name for name in sys.modules if name.startswith('windlass.cli.')))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "exit 0" in done.stdout
    *_, modules = done.stdout.splitlines()
    assert "windlass.cli.main" in modules
    assert not [entry.name for entry in COMMANDS if f"'windlass.cli.{entry.module}'" in modules]


def test_the_command_line_needs_its_extra() -> None:
    script = "import sys; sys.modules['typer'] = None\nfrom windlass.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "windlass: typer is not installed: pip install 'windlass-jobs[cli]'\n"
