"""The SQL that ships, read as text: every error has a known code, and the house's rules hold."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from windlass.db.sqlfiles import CodeFile, Migration, SqlSource, load
from windlass.errors import WindlassError

SOURCE: SqlSource = load()
FILES: list[Migration | CodeFile] = [*SOURCE.migrations, *SOURCE.code]
NAMES = [*(m.name for m in SOURCE.migrations), *(file.path for file in SOURCE.code)]
KNOWN_CODES = {cls.sqlstate for cls in WindlassError.__subclasses__() if cls.sqlstate}

_COMMENT = re.compile(r"--[^\n]*")
_RAISE = re.compile(r"\braise\b\s*(\w*)(.*?);", re.IGNORECASE | re.DOTALL)
_ERRCODE = re.compile(r"errcode\s*=\s*(.+?)(?=\s*(?:,|;|$))", re.IGNORECASE | re.DOTALL)


def raises(text: str) -> list[tuple[str, str]]:
    """Every `raise` that ends a transaction, as its level and the rest of the statement."""
    found = [(match[1].lower(), match[2]) for match in _RAISE.finditer(_COMMENT.sub("", text))]
    return [
        (level, rest) for level, rest in found if level not in {"notice", "warning", "info", "log", "debug"}
    ]


def unknown_raises(text: str) -> list[str]:
    """What is wrong with the raises of a text; an empty `raise;` passes on an error already coded."""
    wrong = []
    for level, rest in raises(text):
        code = _ERRCODE.search(rest)
        if not level and not rest.strip():
            continue
        if code is None:
            wrong.append(f"no errcode: raise {level}{rest}")
        elif code[1].strip("' ") not in KNOWN_CODES:
            wrong.append(f"unknown errcode {code[1]}")
    return wrong


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_every_raise_has_a_known_code(file: Migration | CodeFile) -> None:
    assert unknown_raises(file.text) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("raise exception 'no; code';", True),
        ("raise exception 'x' using errcode = 'P0001';", True),
        ("raise exception 'x' using errcode = 'WL999', hint = 'y';", True),
        ("raise sqlstate 'WL001';", True),
        ("raise exception 'x' using errcode = 'WL001';", False),
        ("raise exception 'x' using\n  errcode = 'WL007',\n  hint = 'y';", False),
        ("exception when others then raise;", False),
        ("-- raise exception 'in a comment';", False),
        ("raise notice 'fine';", False),
    ],
)
def test_the_scan_finds_what_it_should(text: str, wrong: bool) -> None:
    assert bool(unknown_raises(text)) is wrong


def test_every_sql_file_is_reached() -> None:
    """A file in the wrong place would silently never be installed."""
    root = files("windlass") / "sql"
    found = sorted(
        f"{folder.name}/{file.name}"
        for folder in (root / "code").iterdir()
        if folder.is_dir()
        for file in folder.iterdir()
    )
    assert found == sorted(f"{file.path}.sql" for file in SOURCE.code)
    assert [file.name for file in (root / "code").iterdir() if not file.is_dir()] == []
    assert {file.name for file in (root / "migrations").iterdir()} == {
        f"{m.name}.sql" for m in SOURCE.migrations
    }


def test_every_granted_function_has_a_test_file_of_its_name() -> None:
    """It begins with the name, so that an empty one is none.  Views have one between them, test_views.py."""
    folder = Path(__file__).parents[1] / "sql"
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("test_*.py")}
    granted = [file.name for file in SOURCE.code if file.grants and not file.is_view]
    assert len(granted) > 50
    assert [n for n in granted if re.match(rf'"""{n}\b', texts.get(f"test_{n}.py", "")) is None] == []


@pytest.mark.parametrize("file", SOURCE.code, ids=[file.path for file in SOURCE.code])
def test_a_code_file_stays_readable(file: CodeFile) -> None:
    lines = file.text.splitlines()
    assert len(lines) < 100
    assert max(map(len, lines)) <= 130
    assert lines[0].startswith("-- "), "the first line says what is not visible below"
    assert not lines[0].startswith(("-- definer:", "-- grant:"))


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_only_the_clock_reads_the_clock(file: Migration | CodeFile) -> None:
    """Tests move time by replacing windlass_data.clock(); a second clock would not move along."""
    text = _COMMENT.sub("", file.text)
    clocks = re.findall(
        r"\b(?:now\s*\(\s*\)|current_timestamp|localtimestamp|statement_timestamp\s*\(|transaction_timestamp\s*\()",
        text,
        re.IGNORECASE,
    )
    assert clocks == []


def test_what_leaves_days_out_by_a_range_locks_nothing() -> None:
    """See _id_range.sql: PostgreSQL 18 crashes where both meet."""
    for file in SOURCE.code:
        if "_id_range(" in file.text and file.name != "_id_range":
            assert re.search(r"for (no key )?update|update windlass_data\.(job|attempt)\b", file.text) is None
