"""How the values of shared options are read."""

from datetime import UTC, datetime, timedelta

import pytest
import typer

from windlass.cli.costs import to_day
from windlass.cli.options import WrongUsage, split_names, to_moment, to_moment_or_span, to_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("90", 90),
        ("1.5", 1.5),
        ("90s", 90),
        ("500ms", 0.5),
        ("5m", 300),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("2d", 172_800),
        ("1D2H", 93_600),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert to_seconds(text) == pytest.approx(seconds)


def test_a_whole_number_of_seconds_is_shown_as_one() -> None:
    assert [str(to_seconds(text)) for text in ("0", "4000d", "1500ms")] == ["0", "345600000", "1.5"]


@pytest.mark.parametrize("text", ["", "soon", "-5", "5x", "m", "1h30", "1e9", "nan", "٣"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="not a length of time"):
        to_seconds(text)


def test_a_moment_needs_its_time_zone() -> None:
    assert to_moment("2030-01-31T09:00:00Z") == datetime(2030, 1, 31, 9, tzinfo=UTC)
    assert to_moment("2030-01-31T11:00:00+02:00").utcoffset() == timedelta(hours=2)
    with pytest.raises(typer.BadParameter, match="needs its time zone, as in 2030-01-31T09:00:00Z"):
        to_moment("2030-01-31T09:00")
    with pytest.raises(typer.BadParameter, match="is not a time"):
        to_moment("tomorrow")


def test_where_times_and_lengths_are_taken_a_refusal_names_both() -> None:
    assert to_moment_or_span("2h") == timedelta(hours=2)
    with pytest.raises(
        typer.BadParameter, match=r"'yesterday' is neither a time such as .* nor a length of time"
    ):
        to_moment_or_span("yesterday")
    assert to_day("30d") == timedelta(days=30)
    with pytest.raises(
        typer.BadParameter, match=r"'yesterday' is neither a day such as .* nor a length of time"
    ):
        to_day("yesterday")


def test_names_may_be_repeated_or_separated_by_commas() -> None:
    assert split_names(None, "--queue") is None
    assert split_names(["mail, reports", "mail"], "--queue") == ["mail", "reports"]
    for wrong in ("mail,,reports", ""):
        with pytest.raises(WrongUsage, match="--queue: a name in the list is empty"):
            split_names([wrong], "--queue")
