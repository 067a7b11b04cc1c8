"""Everything works behind a pooler that gives each transaction another session.

Two server sessions for everybody: whatever was kept in a session would soon be met by somebody else.
"""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.chaos.fleet import Fleet, eventually, fleet
from tests.pooler import PROGRAM, start_pgbouncer
from tests.support import Database

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")


@pytest.fixture
def pooled_url(db: Database) -> Iterator[str]:
    """The application's URL through PgBouncer in transaction mode."""
    target = conninfo_to_dict(db.url())
    directory = Path(tempfile.mkdtemp(prefix="windlass-pooler-"))
    process = start_pgbouncer(directory, Path(str(target["host"])), upstream_port=int(str(target["port"])))
    try:
        yield f"postgresql://windlass_app@/{target['dbname']}?host={directory}&port=6432"
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(directory)


@pytest.fixture
def crew(pooled_url: str, db: Database, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(db.url(), db.url("superuser"), tmp_path) as workers:
        yield workers


@pytest.mark.parametrize("listens", [False, True])
def test_workers_behind_a_transaction_pooler(crew: Fleet, pooled_url: str, listens: bool) -> None:
    told = {"url": pooled_url, "pooler": "transaction", **({"listen_url": crew.url} if listens else {})}
    doomed = crew.start(**told)
    crew.start(**told)
    ids = crew.enqueue("nap", 60, seconds=0.05) + crew.enqueue("in_child", 2, seconds=0.05)
    eventually(lambda: len(crew.ledger("end")) >= 20, "they work")
    doomed.send(signal.SIGKILL)
    eventually(lambda: crew.states(ids) == {"succeeded": 62}, "all end")
    (long,) = crew.enqueue("nap", seconds=4.5)
    eventually(lambda: crew.states([long]) == {"succeeded": 1}, "leases are renewed through the pooler")
    assert crew.outcomes(long) == ["succeeded"]
    (stopped,) = crew.enqueue("nap", seconds=600)
    eventually(lambda: stopped in {line.job_id for line in crew.ledger("start")}, "it runs")
    crew.ask("select windlass.cancel_job(%s, %s)", crew.job(stopped).tenant_id, stopped)
    eventually(lambda: crew.states([stopped]) == {"canceled": 1}, "it is canceled")
    listening = crew.ask(
        "select count(*) as n from pg_stat_activity where application_name like 'windlass listen%%'",
        inside=True,
    )
    assert listening[0].n == (1 if listens else 0)
    assert not crew.logged("claiming:")
    assert not crew.logged("reporting:")
