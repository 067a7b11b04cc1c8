"""`windlass migrate --sql`: a script that needs no connection to be made, and leads to the same database."""

import subprocess
from pathlib import Path

import pytest

from tests.schema.sample import APART, MIGRATIONS, write_sample
from tests.schema.snapshot import snapshot
from tests.support import Database, Server
from windlass.db.migrate import MigrationReport, migrate, render_sql
from windlass.errors import InvalidInput

pytestmark = pytest.mark.every_version


def run_script(database: Database, script: str) -> subprocess.CompletedProcess[str]:
    """As an administrator would, with the psql that comes with the server."""
    psql = str(database.server.bin_dir / "psql")
    command = [psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database.url("owner"), "-f", "-"]
    return subprocess.run(command, input=script, capture_output=True, text=True, check=False, timeout=60)


def test_the_script_installs_what_migrate_installs(server: Server) -> None:
    with server.empty_database() as scripted, server.empty_database() as migrated:
        done = run_script(scripted, render_sql())
        assert (done.returncode, done.stderr) == (0, "")
        migrate(migrated.url("owner"))
        assert migrate(scripted.url("owner")) == MigrationReport()
        assert snapshot(scripted.connection("superuser")) == snapshot(migrated.connection("superuser"))


def test_the_script_is_plain_sql(empty_db: Database) -> None:
    """Any tool can run it, not only psql: here as one simple query through the driver."""
    empty_db.execute(render_sql(), role="owner")
    assert migrate(empty_db.url("owner")) == MigrationReport()


def test_an_upgrade_script_starts_where_the_database_stands(server: Server, tmp_path: Path) -> None:
    sample = write_sample(tmp_path, {**MIGRATIONS, "0003_index": APART})
    with server.empty_database() as scripted, server.empty_database() as migrated:
        migrate(scripted.url("owner"), source=sample, target="0001_thing")
        done = run_script(scripted, render_sql(since="0001_thing", source=sample))
        assert (done.returncode, done.stderr) == (0, "")
        migrate(migrated.url("owner"), source=sample)
        assert migrate(scripted.url("owner"), source=sample) == MigrationReport()
        assert snapshot(scripted.connection("superuser")) == snapshot(migrated.connection("superuser"))


@pytest.mark.parametrize(
    ("since", "complaint"), [(None, "already installed"), ("0002_note", "does not start from the migrations")]
)
def test_a_script_for_another_state_changes_nothing(
    empty_db: Database, tmp_path: Path, since: str | None, complaint: str
) -> None:
    sample = write_sample(tmp_path, {**MIGRATIONS, "0003_index": APART})
    migrate(empty_db.url("owner"), source=sample, target="0001_thing")
    before = snapshot(empty_db.connection("superuser"))
    done = run_script(empty_db, render_sql(since=since, source=sample))
    assert done.returncode != 0
    assert complaint in done.stderr
    assert snapshot(empty_db.connection("superuser")) == before


def test_an_unknown_start_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no migration named 0000_nothing"):
        render_sql(since="0000_nothing")
