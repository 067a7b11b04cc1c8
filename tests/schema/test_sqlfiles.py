"""What the sql directory may look like; everything else is refused before any of it runs."""

from pathlib import Path

import pytest

from tests.schema.sample import APART, CODE, MIGRATIONS, write_sample
from windlass.db.sqlfiles import load
from windlass.errors import InvalidInput

GOOD = CODE["thing/count_things"]


def test_migrations_come_in_order_with_their_hashes(tmp_path: Path) -> None:
    files = load(write_sample(tmp_path, {"0003_index": APART, **MIGRATIONS}))
    assert [migration.name for migration in files.migrations] == ["0001_thing", "0002_note", "0003_index"]
    assert [migration.transactional for migration in files.migrations] == [True, True, False]
    assert len({migration.sha256 for migration in files.migrations}) == 3


def test_code_comes_by_path_with_views_last_and_after_what_they_name(tmp_path: Path) -> None:
    files = load(write_sample(tmp_path))
    assert [file.path for file in files.code] == [
        "thing/_note",
        "thing/add_thing",
        "thing/count_things",
        "thing/count_through",
        "views/things",
        "views/a_summary",
    ]
    assert files.code[1].definer == "engine"
    assert files.code[1].grants == ("producer", "operator")


def test_the_digest_covers_text_and_path_but_not_line_endings(tmp_path: Path) -> None:
    plain = load(write_sample(tmp_path / "plain")).code_digest
    changed = {**CODE, "thing/count_things": GOOD.replace("grant: reader", "grant: worker")}
    moved = {("other/_note" if path == "thing/_note" else path): text for path, text in CODE.items()}
    assert load(write_sample(tmp_path / "changed", code=changed)).code_digest != plain
    assert load(write_sample(tmp_path / "moved", code=moved)).code_digest != plain
    dos = write_sample(tmp_path / "dos")
    for file in dos.rglob("*.sql"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert load(dos).code_digest == plain
    assert [m.sha256 for m in load(dos).migrations] == [m.sha256 for m in load(tmp_path / "plain").migrations]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (GOOD.replace("-- definer: owner\n", ""), "definer"),
        (GOOD.replace("definer: owner", "definer: root"), "wrong header 'definer: root'"),
        (GOOD.replace("-- definer: owner", "-- definer: owner\n-- definer: engine"), "repeated"),
        (GOOD.replace("definer: owner", "definer: none"), "not what the definition says"),
        (GOOD.replace("security definer", ""), "not what the definition says"),
        (GOOD.replace("-- grant: reader\n", ""), "grant"),
        (GOOD.replace("grant: reader", "grant: public"), "wrong header 'grant: public'"),
        (GOOD.replace("grant: reader", "grant:"), "wrong header 'grant: '"),
        (GOOD.replace("-- grant: reader", "-- windlass: later"), "wrong header 'windlass: later'"),
        (GOOD.replace("-- grant: reader", "-- grant: reader\n-- windlass: after thing/gone"), "thing/gone"),
        (GOOD.replace("windlass.count_things()", "windlass.other()"), "must define windlass.count_things"),
        (GOOD.replace("windlass.count_things()", "count_things()"), "must define windlass.count_things"),
        (GOOD + GOOD, "once"),
        (GOOD + "create view windlass.more as select 1;\n", "nothing else"),
    ],
)
def test_a_wrong_code_file_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    load(write_sample(tmp_path / "good", code={"thing/count_things": GOOD}))
    with pytest.raises(InvalidInput, match=r"code/thing/count_things\.sql") as caught:
        load(write_sample(tmp_path / "bad", code={"thing/count_things": text}))
    assert complaint in str(caught.value)


def test_a_helper_may_not_be_granted(tmp_path: Path) -> None:
    text = CODE["thing/_note"].replace("-- definer: none", "-- definer: none\n-- grant: reader")
    with pytest.raises(InvalidInput, match="a helper begins with"):
        load(write_sample(tmp_path, code={"thing/_note": text}))


def test_a_definition_inside_a_comment_or_body_does_not_count(tmp_path: Path) -> None:
    text = GOOD.replace(
        "begin atomic", "-- create view windlass.x\n/* create view windlass.y */ begin atomic"
    )
    load(write_sample(tmp_path, code={"thing/count_things": text}))


def test_a_name_defined_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="more than one file: count_things"):
        load(write_sample(tmp_path, code={"thing/count_things": GOOD, "other/count_things": GOOD}))


def test_a_circle_of_after_lines_is_refused(tmp_path: Path) -> None:
    code = {
        **CODE,
        "views/things": CODE["views/things"].replace(
            "-- grant: reader", "-- grant: reader\n-- windlass: after views/a_summary"
        ),
    }
    with pytest.raises(InvalidInput, match="circle"):
        load(write_sample(tmp_path, code=code))


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("1_short", "select 1;", "called NNNN_what"),
        ("0002_Upper", "select 1;", "called NNNN_what"),
        ("0001_again", "select 1;", "used twice"),
        ("0003_odd", "-- windlass: sideways\nselect 1;", "unknown header 'windlass: sideways'"),
    ],
)
def test_a_wrong_migration_is_refused(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        load(write_sample(tmp_path, {"0001_thing": MIGRATIONS["0001_thing"], name: text}))
