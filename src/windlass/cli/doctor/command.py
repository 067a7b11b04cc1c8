"""The command: prints the findings as they come, and exits with 1 if one of them is a fault."""

from collections.abc import Iterable

import typer

from windlass.cli.doctor.examine import examine
from windlass.cli.doctor.finding import Finding
from windlass.cli.exits import Exit
from windlass.cli.options import AsJson, DatabaseUrl
from windlass.cli.output import on_terminal, print_json
from windlass.cli.session import read_settings
from windlass.cli.text import clean
from windlass.cli.tree import single

app = single()

_COLORS = {"ok": "green", "warn": "yellow", "fail": "bold red"}


@app.command()
def doctor(database_url: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """Examine the installation, and say what to do about it.

    Tries what matters instead of trusting the settings: whether row-level
    security holds this role, whether a notice arrives, whether a pooler stands
    between, who keeps dead rows alive. Nothing that it does stays behind.

    Exits with 1 if something is at fault, with 0 if there are only warnings.

    Example:
      windlass doctor --json | jq '.findings[] | select(.level != "ok")'
    """
    findings = _told(examine(read_settings(database_url)), silent=as_json)
    sound = all(finding.level != "fail" for finding in findings)
    if as_json:
        print_json({"ok": sound, "findings": findings})
    if not sound:
        raise typer.Exit(Exit.FAILED)


def _told(findings: Iterable[Finding], *, silent: bool) -> list[Finding]:
    told = []
    for finding in findings:
        told.append(finding)
        if not silent:
            _print(finding)
    return told


def _print(finding: Finding) -> None:
    lines = [f"{finding.check:<19} {clean(finding.sentence)}"]
    if finding.advice:
        lines.append(f"{'':<24} {clean(finding.advice)}")
    if not on_terminal():
        print(f"{finding.level:<5}", "\n".join(lines), flush=True)
        return
    from rich.console import Console
    from rich.text import Text

    shown = Text.assemble((f"{finding.level:<5} ", _COLORS[finding.level]), "\n".join(lines))
    Console().print(shown, soft_wrap=True)
