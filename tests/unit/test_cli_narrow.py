"""What a table shows on a terminal that has no room for all of it."""

import io
from dataclasses import dataclass

from rich.console import Console

from windlass.cli.output import Column, make_table

ID = "0198c0de-0000-7000-8000-00000000000"


@dataclass(frozen=True)
class Row:
    id: str
    kind: str
    queue: str
    state: str
    at: str
    text: str


ROWS = [
    Row(f"{ID}1", "send_mail", "default", "succeeded", "2030-01-31T12:00:00.000Z", "no"),
    Row(
        f"{ID}2", "report", "default", "dead", "2030-01-31T12:00:01.000Z", "the relay did not answer in time"
    ),
]
COLUMNS: list[Column[Row]] = [
    Column("ID", lambda row: row.id),
    Column("KIND", lambda row: row.kind),
    Column("QUEUE", lambda row: row.queue, spare=1),
    Column("NOTHING", lambda row: None),
    Column("STATE", lambda row: row.state),
    Column("AT", lambda row: row.at, brief=lambda row: row.at[11:19], spare=2),
    Column("TEXT", lambda row: row.text, wraps=10),
]


def draw(columns: list[Column[Row]], rows: list[Row], width: int) -> tuple[str, list[str]]:
    table, left_out = make_table(columns, rows, width)
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    assert all(len(line) <= width for line in out.getvalue().splitlines())
    return out.getvalue(), left_out


def test_a_wide_terminal_shows_everything_as_it_is() -> None:
    shown, left_out = draw(COLUMNS, ROWS, 200)
    assert left_out == []
    for row in ROWS:
        assert all(value in shown for value in (row.id, row.kind, row.queue, row.state, row.at, row.text))
    assert "NOTHING" in shown


def test_with_less_room_times_are_short_and_text_goes_over_lines() -> None:
    shown, left_out = draw(COLUMNS, ROWS, 110)
    assert left_out == []
    assert "2030" not in shown
    assert "12:00:01" in shown
    assert all(word in shown for word in ROWS[1].text.split())


def test_what_is_the_same_in_every_line_goes_first_and_is_told() -> None:
    shown, left_out = draw(COLUMNS, ROWS, 85)
    assert left_out == ["QUEUE (default)"]
    assert "NOTHING" not in shown, "an empty column says nothing, and nothing is said of it"
    assert "12:00:01" in shown


def test_then_what_says_least_goes_and_the_rest_keeps_its_letters() -> None:
    shown, left_out = draw(COLUMNS, ROWS, 75)
    assert left_out == ["QUEUE (default)", "AT"]
    for row in ROWS:
        assert all(value in shown for value in (row.id, row.kind, row.state))


def test_a_name_that_is_too_long_is_broken_and_an_id_is_not() -> None:
    kind = "a_kind_with_a_name_that_has_more_letters_than_anybody_expected"
    long = [Row(ROWS[0].id, kind, "default", "dead", "", "")]
    shown, _ = draw(COLUMNS[:5], long, 80)
    assert ROWS[0].id in shown
    assert "dead" in shown
    assert "".join(line[38:].split("dead")[0].strip() for line in shown.splitlines()[2:]) == kind
