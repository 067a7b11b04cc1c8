"""The documents name real things: every test and file they point to exists."""

import re
from pathlib import Path

import pytest

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
