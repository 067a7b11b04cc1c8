"""The page on Python has every option, attribute, state, outcome and error that there is, and no other."""

import inspect
import re
from pathlib import Path

import pytest

from windlass import JobContext, JobHandle, JobState, SyncJobHandle, Windlass
from windlass.app import JobOptions
from windlass.errors import ERROR_CLASSES, WindlassError
from windlass.model import Outcome

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
NOT_FOR_HANDLERS = {"owes", "prepared", "settle", "settle_sync", "tell_stop"}


def table(head: str) -> list[list[str]]:
    """The rows of the table that begins with this cell."""
    _, _, rest = PAGE.partition(f"\n| {head} |")
    rows = rest.partition("\n\n")[0].splitlines()[2:]
    assert rows, head
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def names(cells: list[str]) -> list[str]:
    """What stands in backquotes, without how it is called."""
    quoted = [name for cell in cells for name in re.findall(r"`([^`]*)`", cell)]
    return [re.sub(r"^await |^app\.|\(.*", "", name) for name in quoted]


def first_cells(head: str) -> list[str]:
    return names([row[0] for row in table(head)])


def test_every_option_of_a_kind_is_on_the_page() -> None:
    options = inspect.signature(Windlass().job).parameters.values()
    assert first_cells("option") == [option.name for option in options if option.kind is option.KEYWORD_ONLY]


def test_every_option_of_an_enqueue_is_on_the_page() -> None:
    section = PAGE.partition("## Enqueueing, and handles")[2].partition("\n**Idempotency")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", section, re.MULTILINE)
    assert sorted(names(rows)) == sorted(JobOptions.__annotations__)


def test_every_option_of_a_worker_is_on_the_page() -> None:
    section = PAGE.partition("## Workers")[2].partition("\n## ")[0]
    missing = [name for name in inspect.signature(Windlass().worker).parameters if f"`{name}" not in section]
    assert not missing


@pytest.mark.parametrize("cls", [JobHandle, SyncJobHandle])
def test_the_page_tells_what_a_handle_can(cls: type) -> None:
    public = {name for name in dir(cls) if not name.startswith("_")}
    assert set(first_cells("of a handle")) == public


def test_the_page_tells_what_a_context_can() -> None:
    public = {name for name in dir(JobContext) if not name.startswith("_")}
    assert set(first_cells("of `ctx`")) == public - NOT_FOR_HANDLERS


def test_the_page_names_only_what_an_application_has() -> None:
    assert not [
        name
        for name in first_cells("of an application")
        if not hasattr(Windlass, name) and name not in vars(Windlass())
    ]


def test_every_outcome_and_every_state_is_on_the_page() -> None:
    told = {names(row)[0]: row[2] for row in table("outcome")}
    assert told == {outcome.value: "yes" if outcome.counted else "no" for outcome in Outcome}
    assert sorted(first_cells("state")) == sorted(JobState)


def test_every_error_is_on_the_page() -> None:
    told = [(*names(row[:1])[:1], *names(row[1:2])) for row in table("error")]
    assert told == [(error.__name__, error.code) for error in ERROR_CLASSES if error is not WindlassError]
    assert f"`{WindlassError.__name__}` (`{WindlassError.code}`" in PAGE
