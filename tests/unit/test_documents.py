"""The documents name real things: every test and file they point to exists."""

import re
from pathlib import Path

import pytest

from windlass.cli.exits import Exit, exit_code
from windlass.errors import ERROR_CLASSES
from windlass.model import RETRY_PRESETS, RetryPolicy

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "src/windlass/sql/README.md"])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_test_that_is_named_exists(document: Path) -> None:
    missing = []
    for file, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", document.read_text()):
        path = ROOT / file
        if not path.exists() or (name and f"def {name}(" not in path.read_text()):
            missing.append(f"{file}::{name}")
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text())
    assert not [link for link in links if not (document.parent / link).exists()]


def test_the_invariants_are_all_held() -> None:
    rows = re.findall(r"^\| (\d+) \|.*\| (.*) \|$", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    assert [number for number, _ in rows] == [str(number) for number in range(1, 11)]
    assert all("`tests/" in held_by for _, held_by in rows)


def test_every_error_of_the_database_is_in_the_guide_to_sql() -> None:
    rows = re.findall(r"^\| (WL\d+) \| (\w+) \|", (ROOT / "docs/sql.md").read_text(), re.MULTILINE)
    assert rows == [(error.sqlstate, error.code) for error in ERROR_CLASSES if error.sqlstate]


def test_every_code_of_an_error_stands_beside_its_exit_code() -> None:
    table = (
        (ROOT / "docs/commands.md").read_text().partition("### Exit codes")[2].partition("\n\nAn error")[0]
    )
    found = {
        code: int(row[0])
        for row in re.findall(r"^\| (\d+) \| (.*) \|$", table, re.MULTILINE)
        for code in re.findall(r"`(\w+)`", row[1])
        if code != "doctor"
    }
    codes = {*(error.code for error in ERROR_CLASSES), "usage", "aborted"}
    assert found == {code: exit_code(code) for code in codes}
    assert found["usage"] == Exit.USAGE


def _waits(policy: RetryPolicy) -> str:
    first = " ".join(f"{policy.delay_bounds(n)[policy.jitter == 'full']:g} s," for n in (1, 2, 3)).rstrip(",")
    cap = {None: "without a cap", 30.0: "30 s", 3600.0: "1 h"}[policy.cap_seconds]
    return ("up to " if policy.jitter == "full" else "") + f"{first} … {cap}"


def test_every_retry_preset_is_described_as_it_is() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (.+) \| `(\w+)` \| (\d+) \|$", (ROOT / "docs/retries.md").read_text(), re.MULTILINE
    )
    assert rows == [
        (name, _waits(policy), policy.jitter, str(policy.max_attempts))
        for name, policy in RETRY_PRESETS.items()
    ]
