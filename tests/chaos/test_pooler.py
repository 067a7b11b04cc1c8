"""Everything works behind a pooler that gives each transaction another session.

Two server sessions for everybody: whatever was kept in a session would soon be met by somebody else.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.chaos.fleet import Fleet, eventually, fleet
from tests.support import Database

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")


@pytest.fixture
def pooled_url(db: Database) -> Iterator[str]:
    """The application's URL through PgBouncer in transaction mode."""
    assert PROGRAM is not None
    target = conninfo_to_dict(db.url())
    owner = Path(str(target["host"])).stat().st_uid
    directory = Path(tempfile.mkdtemp(prefix="windlass-pooler-"))
    config = directory / "pgbouncer.ini"
    config.write_text(
        f"[databases]\n* = host={target['host']} port={target['port']}\n"
        f"[pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = {directory}\n"
        f"auth_type = trust\nauth_file = {directory}/users\npool_mode = transaction\n"
        "default_pool_size = 2\nmax_client_conn = 100\nignore_startup_parameters = extra_float_digits\n"
    )
    (directory / "users").write_text('"windlass_app" ""\n')
    command = [PROGRAM, str(config)]
    if os.geteuid() == 0:  # it refuses to be root, and the socket belongs to the server's account
        for path in (directory, config, directory / "users"):
            os.chown(path, owner, -1)
        command[1:1] = ["-u", pwd.getpwuid(owner).pw_name]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    url = f"postgresql://windlass_app@/{target['dbname']}?host={directory}&port=6432"
    try:
        eventually(lambda: process.poll() is not None or _answers(url), "the pooler answers")
        assert process.poll() is None
        yield url
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(directory)


def _answers(url: str) -> bool:
    try:
        with psycopg.connect(url, prepare_threshold=None) as connection:
            return connection.execute("select 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


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
