"""docs/sql.md and the README's example, statement by statement, through psql."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import Database

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "sql.md"


def run_psql(db: Database, script: str, *, role: str = "app", schema: str = "shop") -> str:
    """What psql says to the whole script, in a schema of the caller's own; it must end well."""
    psql = shutil.which("psql", path=str(db.server.bin_dir))
    if psql is None:
        pytest.skip(f"there is no psql in {db.server.bin_dir}")
    options = f"&options=-csearch_path%3D{schema}"
    done = subprocess.run(
        [psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", db.url(role) + options],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def shop(db: Database) -> Database:
    db.execute("create schema shop authorization windlass_app", role="superuser")
    return db


def states(db: Database) -> dict[str, list[str]]:
    rows = db.fetch(
        "select kind, state from windlass.list_jobs(windlass.tenant_id('default')) order by kind, state"
    )
    found: dict[str, list[str]] = {}
    for kind, state in rows:
        found.setdefault(kind, []).append(state)
    return found


@pytest.mark.direct(reason="psql gives options at the start, which the pooler refuses")
def test_the_guide_from_its_first_statement_to_its_last(shop: Database) -> None:
    statements = re.findall(r"^```sql\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(statements) >= 8
    said = run_psql(shop, "\n".join(statements))
    found = states(shop)
    canceled, *queued, succeeded = found.pop("greet")
    assert (canceled, set(queued), succeeded) == ("canceled", {"queued"}, "succeeded")
    assert found == {"send_mail": ["queued"], "send_receipt": ["queued"]}
    assert re.search(r"send_receipt +\| default +\| queued", said)
    assert "lease_lost" not in said


@pytest.mark.direct(reason="psql gives options at the start, which the pooler refuses")
@pytest.mark.new_database
def test_the_login_of_the_embedded_server_creates_tables_once_the_owner_lets_it(db: Database) -> None:
    guide = GUIDE.read_text()
    (trigger,) = re.findall(r"^```sql\n(create table orders.*?)^```$", guide, re.DOTALL | re.MULTILINE)
    (grant,) = re.findall(r"^windlass=> (.*)$", guide, re.MULTILINE)
    with pytest.raises(AssertionError, match="permission denied for schema public"):
        run_psql(db, trigger, schema="public")
    run_psql(db, grant, role="owner", schema="public")
    run_psql(db, trigger, schema="public")
    assert states(db) == {"send_receipt": ["queued"]}


def test_every_argument_of_enqueue_job_is_in_the_table(db: Database) -> None:
    names = db.fetch_value(
        "select proargnames[1:pronargs] from pg_proc where proname = 'enqueue_job'", role="superuser"
    )
    rows = re.findall(r"^\| (`p_.*?) \|", GUIDE.read_text(), re.MULTILINE)
    assert [name for row in rows for name in re.findall(r"p_\w+", row)] == names


def test_the_views_are_empty_until_a_tenant_is_set(db: Database) -> None:
    db.fetch("select windlass.enqueue_job(windlass.tenant_id('default'), 'greet')")
    assert db.fetch_value("select count(*) from windlass.jobs") == 0
    db.fetch("select set_config('windlass.tenant_id', windlass.tenant_id('default')::text, false)")
    assert db.fetch_value("select count(*) from windlass.jobs") == 1


@pytest.mark.direct(reason="psql gives options at the start, which the pooler refuses")
def test_the_readme_says_a_statement_that_works(shop: Database) -> None:
    (example,) = re.findall(r"`(select \* from windlass\.[^`]*)`", (ROOT / "README.md").read_text())
    said = run_psql(shop, f"{' '.join(example.split())};")
    assert re.search(r"\| t$", said, re.MULTILINE)
    assert states(shop) == {"greet": ["queued"]}
