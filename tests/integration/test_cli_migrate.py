"""`windlass migrate`, on a database of one's own and on the embedded server."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.command import Command
from tests.support import Database


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the server's account may enter, which pytest's own are not for root."""
    path = Path(tempfile.mkdtemp(prefix="windlass-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def test_migrating_once_and_again(empty_db: Database, tmp_path: Path) -> None:
    windlass = Command(tmp_path, empty_db.url("owner"))
    missing = windlass.here("migrate", "--check", "--json")
    assert (missing.code, missing.error["code"]) == (8, "schema_mismatch")

    done = windlass("migrate", "--json").ok().json
    assert done["changed"]
    assert done["applied"][0] == "0001_ground"
    assert windlass.here("migrate").ok().out == "Nothing to do: the schema is that of this release.\n"
    assert windlass.here("migrate", "--check", "--json").ok().json == {"up_to_date": True}
    assert Command(tmp_path, empty_db.url()).here("migrate", "--check").code == 0


@pytest.mark.parametrize("words", [["enqueue", "greet"], ["jobs", "list"], ["top"]])
def test_a_database_without_windlass_is_one_error(
    empty_db: Database, tmp_path: Path, words: list[str]
) -> None:
    answer = Command(tmp_path, empty_db.url("owner"))(*words, "--json")
    assert (answer.code, answer.out, answer.error["code"]) == (8, "", "schema_mismatch")
    assert answer.error["message"] == "Windlass is not installed in this database: run `windlass migrate`"


def test_a_role_that_may_not_migrate_is_told_what_is_missing(empty_db: Database, tmp_path: Path) -> None:
    answer = Command(tmp_path, empty_db.url("app")).here("migrate")
    assert answer.code == 5
    assert "an administrator must run:" in answer.err
    assert "Traceback" not in answer.err


def test_the_script_needs_no_database(empty_db: Database, tmp_path: Path) -> None:
    windlass = Command(tmp_path, "postgresql://127.0.0.1:1/nowhere")
    script = windlass.here("migrate", "--sql").ok()
    assert script.err == ""
    empty_db.connection("superuser").execute(script.out.encode())
    assert Command(tmp_path, empty_db.url()).here("migrate", "--check").code == 0
    assert windlass.here("migrate", "--sql", "--json").ok().json == {"sql": script.out}
    shorter = windlass.here("migrate", "--sql", "--since", "0001_ground").ok().out
    assert len(shorter) < len(script.out)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--sql", "--check"], 2),
        (["--since", "0001_ground"], 2),
        (["--sql", "--since", "0000_nothing"], 6),
    ],
)
def test_wrong_migrations(tmp_path: Path, words: list[str], code: int) -> None:
    answer = Command(tmp_path).here("migrate", *words)
    assert (answer.code, answer.out) == (code, "")


def test_the_embedded_server_is_started_for_it_and_stopped(place: Path) -> None:
    windlass = Command(place, WINDLASS_DATA_DIR=str(place / "data"))
    checked = windlass("migrate", "--check")
    assert (checked.code, checked.out) == (8, "")
    assert f"there is no database yet in {place / 'data'}" in checked.err
    assert not (place / "data").exists(), "to look changes nothing"
    done = windlass("migrate", "--json").ok()
    assert (done.json["changed"], done.json["data_dir"], done.err) == (True, str(place / "data"), "")
    assert windlass("migrate", "--check").code == 0
    assert not (place / "data" / "pgdata" / "postmaster.pid").exists()
