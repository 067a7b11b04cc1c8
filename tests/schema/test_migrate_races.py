"""Several migrators at once: each succeeds, the work is done once."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.schema.sample import APART, MIGRATIONS, write_sample
from tests.support import Database
from windlass.db.migrate import MigrationReport, migrate
from windlass.db.script import LOCK_KEY
from windlass.errors import Unavailable

pytestmark = pytest.mark.every_version

MIGRATORS = 3


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.01)


@pytest.mark.direct(reason="three transactions wait at once")
def test_all_succeed_and_one_does_the_work(empty_db: Database, tmp_path: Path) -> None:
    sample = write_sample(tmp_path, {**MIGRATIONS, "0003_index": APART})
    waiting = """select count(*) from pg_locks
        where locktype = 'advisory' and not granted
            and database = (select oid from pg_database where datname = current_database())"""
    holder = empty_db.connect("superuser", autocommit=False)
    holder.execute("select pg_advisory_xact_lock(%s)", [LOCK_KEY])
    with ThreadPoolExecutor(MIGRATORS) as threads:
        calls = [
            threads.submit(migrate, empty_db.url("owner"), source=sample, wait_seconds=60)
            for _ in range(MIGRATORS)
        ]
        wait_until(lambda: bool(empty_db.fetch_value(waiting, role="superuser") == MIGRATORS))
        holder.rollback()
        reports = [call.result(timeout=60) for call in calls]
    applied = [name for report in reports for name in report.applied]
    assert sorted(applied) == ["0001_thing", "0002_note", "0003_index"]
    assert sorted(report.code_replaced for report in reports) == [False, False, True]
    assert migrate(empty_db.url("owner"), source=sample) == MigrationReport()


def test_the_wait_for_another_migrator_ends(empty_db: Database, tmp_path: Path) -> None:
    sample = write_sample(tmp_path)
    with empty_db.connect("superuser") as other, other.transaction():
        other.execute("select pg_advisory_xact_lock(%s)", [LOCK_KEY])
        with pytest.raises(Unavailable, match="waiting for another migrator: a lock was not free in time"):
            migrate(empty_db.url("owner"), source=sample, wait_seconds=0.1)


def rebuild_between_calls(database: Database, rounds: list[int]) -> None:
    """Rebuild the code, then wait until every caller has called again."""
    database.execute("delete from windlass_data.schema_version where name = 'code'", role="owner")
    assert migrate(database.url("owner")) == MigrationReport((), code_replaced=True)
    before = list(rounds)
    wait_until(lambda: all(now > then for now, then in zip(rounds, before, strict=True)))


def test_calls_under_way_live_through_a_rebuild(db: Database) -> None:
    """Sessions with prepared calls keep working while the functions under them are dropped and made anew."""
    stop = threading.Event()
    rounds = [0, 0]

    def call(place: int) -> None:
        with db.connect("app") as conn:
            while not stop.is_set():
                row = conn.execute("select windlass.tenant_id('default')", prepare=True).fetchone()
                assert row is not None
                rounds[place] += 1

    with ThreadPoolExecutor(len(rounds)) as threads:
        calls = [threads.submit(call, place) for place in range(len(rounds))]
        try:
            for _ in range(3):
                rebuild_between_calls(db, rounds)
        finally:
            stop.set()
        for outcome in calls:
            outcome.result(timeout=20)
