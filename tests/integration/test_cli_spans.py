"""A length of time that leads beyond every date is a wrong command line."""

from pathlib import Path

import pytest

from tests.integration.command import Command
from tests.support import Database


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    return Command(tmp_path, db.url())


@pytest.mark.parametrize("span", ["3000000d", "99999999999d", f"{'9' * 400}d"])
@pytest.mark.parametrize(
    "words",
    [
        ["jobs", "list", "--since"],
        ["jobs", "list", "--until"],
        ["jobs", "redrive", "--dry-run", "--since"],
        ["jobs", "redrive", "--dry-run", "--until"],
        ["gates", "set", "--queue", "q", "--until"],
        ["audit", "list", "--since"],
        ["costs", "--since"],
    ],
)
def test_too_long_a_span_is_told_in_a_sentence(windlass: Command, words: list[str], span: str) -> None:
    answer = windlass.here(*words, span)
    assert (answer.code, answer.out) == (2, "")
    assert "days leads beyond the year" in answer.err


@pytest.mark.parametrize("words", [["enqueue", "a", "--delay"], ["enqueue", "a", "--timeout"]])
def test_so_is_one_that_a_job_cannot_have(windlass: Command, words: list[str]) -> None:
    answer = windlass.here(*words, f"{'9' * 400}d")
    assert answer.code == 6
    assert "seconds" in answer.err
