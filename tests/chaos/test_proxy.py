"""The wire does to real sessions what each of its modes says."""

import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.chaos.proxy import Proxy
from tests.support import Database


@pytest.fixture(params=["socket", "tcp"])
def proxy(db: Database, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Proxy]:
    target = conninfo_to_dict(db.url())
    place = {"directory": tmp_path} if request.param == "socket" else {"address": "127.0.0.1"}
    proxy = Proxy(lambda: Path(f"{target['host']}/.s.PGSQL.{target['port']}"), **place)
    yield proxy
    proxy.close()


def connect(proxy: Proxy, db: Database) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(proxy.url(database=db.name), autocommit=True, connect_timeout=5, sslmode="disable")


def test_it_passes_what_it_is_given(proxy: Proxy, db: Database) -> None:
    with connect(proxy, db) as connection:
        assert connection.execute("select repeat('x', 1000000)").fetchone() == ("x" * 1_000_000,)


def test_cut_means_done_but_unanswered(proxy: Proxy, db: Database) -> None:
    with connect(proxy, db) as connection:
        connection.execute("create temporary table if not exists t (n integer)")
        proxy.share = 1.0
        proxy.set("cut")
        with pytest.raises(psycopg.OperationalError):
            connection.execute(
                "select windlass.enqueue_job('00000000-0000-7000-8000-000000000001', 'k', '{}')"
            )
    assert proxy.swallowed == 1
    assert db.fetch_value("select count(*) from windlass_data.job", role="superuser") == 1


def test_refuse_ends_everything_until_it_passes_again(proxy: Proxy, db: Database) -> None:
    with connect(proxy, db) as connection:
        proxy.set("refuse")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
    with pytest.raises(psycopg.OperationalError):
        connect(proxy, db)
    proxy.set("pass")
    with connect(proxy, db) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_half_open_answers_nobody_and_hangs_up_on_nobody(proxy: Proxy, db: Database) -> None:
    with connect(proxy, db) as connection:
        proxy.set("half-open")
        connection.pgconn.send_query(b"select 1")
        connection.pgconn.flush()
        with pytest.raises(psycopg.OperationalError, match="timeout"):
            psycopg.connect(proxy.url(database=db.name), connect_timeout=2, sslmode="disable")
        connection.pgconn.consume_input()
        assert connection.pgconn.is_busy()
        proxy.set("pass")
        with pytest.raises(psycopg.OperationalError):  # the peer has forgotten this connection
            while True:
                connection.pgconn.consume_input()
                time.sleep(0.01)
    with connect(proxy, db) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_delay_takes_its_time(proxy: Proxy, db: Database) -> None:
    with connect(proxy, db) as connection:
        proxy.set("delay")
        since = time.monotonic()
        connection.execute("select 1")
        assert time.monotonic() - since >= 2 * proxy.seconds
