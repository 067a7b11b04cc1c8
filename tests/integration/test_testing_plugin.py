"""What users get for their own tests: the guide's example as it stands, then each helper by itself."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.support import Database
from windlass import InvalidInput, RetryPolicy, Snooze, Windlass, WindlassError
from windlass.client import AsyncClient
from windlass.db.rpc import claim_jobs
from windlass.model import Outcome, uuid7
from windlass.settings import Settings
from windlass.testing import (
    Clock,
    assert_enqueued,
    assert_not_enqueued,
    jobs,
    run_due,
    run_due_sync,
)

GUIDE = Path(__file__).parents[2] / "docs" / "testing.md"
PLUGIN = "windlass.testing.plugin"
CONFIGURATION = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""


def run_python(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "WINDLASS"))
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def run_pytest(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest in a project of its own; the plugin comes by its entry point wherever Windlass is installed."""
    (directory / "pytest.ini").write_text(CONFIGURATION)
    installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
    loading = [] if installed else ["-p", PLUGIN]
    return run_python(directory, "-m", "pytest", "-p", "no:cacheprovider", *loading, *arguments)


@pytest.fixture
def guide(tmp_path: Path) -> Path:
    """A directory with the files that the guide shows."""
    shown = re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    for name, text in shown:
        (tmp_path / name).write_text(text)
    assert {name for name, _ in shown} == {"conftest.py", "shop.py", "test_shop.py", "plain.py"}
    return tmp_path


def test_the_guides_example_passes_also_in_several_processes(guide: Path) -> None:
    (guide / "conftest.py").unlink()
    done = run_pytest(guide, "-n", "2", "-q", "test_shop.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_the_guides_example_on_a_server_of_its_own_choice(guide: Path) -> None:
    (guide / "test_where.py").write_text(
        "def test_where(windlass_server, windlass_database):\n"
        "    assert not str(windlass_server.data_dir).startswith('/dev/shm')\n"
    )
    done = run_pytest(guide, "-q", "test_where.py")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_guides_example_without_pytest(guide: Path) -> None:
    done = run_python(guide, "-W", "error", "plain.py")
    assert (done.stdout, done.stderr) == ("['succeeded']\n", "")


def test_each_test_has_a_database_of_its_own_and_time_stands_still(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text(
        "import pytest\n"
        "from windlass import Windlass\n"
        "from windlass.testing import jobs\n"
        "app = Windlass('postgresql://nobody@nowhere.invalid/none')\n"
        "@app.job\n"
        "def tick() -> None: ...\n"
        "@pytest.mark.parametrize('number', [1, 2])\n"
        "def test_alone(number, windlass_use, windlass_clock, windlass_temporary, windlass_database):\n"
        "    assert windlass_use(app) is app\n"
        "    tick.enqueue_sync()\n"
        "    assert len(jobs(app)) == 1\n"
        "    assert windlass_clock.now() == windlass_clock.now()\n"
        "    assert 'windlass_app' in windlass_database == windlass_temporary.url\n"
        "def test_restored():\n"
        "    assert app.settings.database_url == 'postgresql://nobody@nowhere.invalid/none'\n"
    )
    done = run_pytest(tmp_path, "-q", "test_two.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_a_run_that_asks_for_nothing_gets_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_none.py").write_text(
        "import sys, threading\n"
        "def test_nothing():\n"
        "    helpers = {name for name in sys.modules if name.startswith('windlass.testing.')}\n"
        f"    assert helpers == {{{PLUGIN!r}}}\n"
        "    assert threading.active_count() == 1\n"
    )
    done = run_pytest(tmp_path, "-q", "test_none.py")
    assert done.returncode == 0, done.stdout + done.stderr


class Mill:
    """An application with one job of each character."""

    def __init__(self) -> None:
        self.app = app = Windlass()
        self.ran: list[str] = []

        @app.job
        async def grind(name: str) -> str:
            self.ran.append(name)
            return name.upper()

        @app.job(retry=RetryPolicy(base_seconds=60, jitter="none"), max_attempts=2)
        def jam(name: str) -> None:
            raise ValueError(f"{name} is stuck")

        @app.job(queue="orders")
        async def split(names: list[str]) -> int:
            for name in names:
                await grind.options(queue=f"bin-{name}").enqueue(name)
            return len(names)

        @app.job
        def spin() -> Snooze:
            return Snooze(0)

        self.grind, self.jam, self.split, self.spin = grind, jam, split, spin


@pytest.fixture
def mill(db: Database) -> Iterator[Mill]:
    mill = Mill()
    with mill.app.at(db.url()):
        yield mill


@pytest.fixture
def time(db: Database) -> Clock:
    time = Clock(db.url("owner"))
    time.freeze()
    return time


async def test_run_due_runs_in_order_and_tells_what_ran(mill: Mill) -> None:
    await mill.grind.options(priority=-1).enqueue("last")
    await mill.grind.enqueue("second")
    first = await mill.grind.options(priority=5).enqueue("first")
    ran = await run_due(mill.app)
    assert mill.ran == ["first", "second", "last"]
    assert [(one.kind, one.attempt, one.outcome, one.result) for one in ran] == [
        ("grind", 1, Outcome.SUCCEEDED, name) for name in ("FIRST", "SECOND", "LAST")
    ]
    assert (ran[0].job_id, ran[0].tenant_id) == (first.id, first.tenant_id)
    assert await run_due(mill.app) == []


async def test_run_due_follows_jobs_into_queues_that_did_not_exist(mill: Mill) -> None:
    await mill.split.enqueue(["rye", "oat"])
    ran = await run_due(mill.app)
    assert [one.kind for one in ran] == ["split", "grind", "grind"]
    assert sorted(mill.ran) == ["oat", "rye"]


async def test_run_due_keeps_to_the_queues_named(mill: Mill) -> None:
    await mill.split.enqueue([])
    await mill.grind.enqueue("rye")
    assert [one.kind for one in await run_due(mill.app, queues="orders")] == ["split"]
    assert mill.ran == []


async def test_run_due_serves_all_tenants_and_only_its_own_kinds(mill: Mill) -> None:
    client = mill.app.client
    tenant = await client.create_tenant("miller", "Miller")
    await mill.grind.options(tenant="miller").enqueue("rye")
    stranger = await client.enqueue_job("of_another_program")
    (ran,) = await run_due(mill.app)
    assert ran.tenant_id == tenant
    assert (await stranger.get()).state == "queued"


async def test_a_failed_attempt_is_told_with_its_exception_and_retried_in_its_time(
    mill: Mill, time: Clock
) -> None:
    handle = await mill.jam.enqueue("rye")
    (first,) = await run_due(mill.app)
    assert (first.outcome, first.attempt) == (Outcome.FAILED, 1)
    assert isinstance(first.exception, ValueError)
    assert first.error is not None
    assert first.error["message"] == "rye is stuck"

    time.advance(59.999)
    assert await run_due(mill.app) == []
    time.advance(timedelta(milliseconds=1))
    (second,) = await run_due(mill.app)
    assert second.attempt == 2
    assert (await handle.get()).state == "dead"


async def test_an_expired_lease_is_recovered_when_time_moves_past_it(
    mill: Mill, db: Database, time: Clock
) -> None:
    handle = await mill.grind.enqueue("rye")
    dead_node = claim_jobs(uuid7(), ["default"], None, 1, 30.0)
    db.fetch(re.sub(r"\$\d+", "%s", dead_node.text), *dead_node.values)
    assert await run_due(mill.app) == []
    time.advance(31)
    (ran,) = await run_due(mill.app)
    assert (ran.attempt, ran.result) == (2, "RYE")
    assert [attempt.outcome for attempt in await handle.attempts()] == [Outcome.CRASHED, Outcome.SUCCEEDED]


def test_a_job_that_calls_itself_back_for_ever_is_an_error(mill: Mill) -> None:
    mill.spin.enqueue_sync()
    with pytest.raises(WindlassError, match=r"after 20 attempts still a job is due; .* 'spin', snoozed"):
        run_due_sync(mill.app, limit=20)


def test_run_due_sync_runs_asynchronous_handlers_and_what_they_enqueue(mill: Mill) -> None:
    handle = mill.split.enqueue_sync(["rye"])
    assert len(run_due_sync(mill.app)) == 2
    assert handle.wait(timeout=10) == 1


async def test_run_due_sync_says_what_to_do_inside_an_event_loop(mill: Mill) -> None:
    with pytest.raises(InvalidInput, match="await run_due"):
        run_due_sync(mill.app)


async def test_another_database_nests_and_gives_everything_back(mill: Mill, db: Database) -> None:
    outer, client, sync = mill.app.settings, mill.app.client, mill.app.sync
    with mill.app.at(db.url("outsider")) as app:
        assert app is mill.app
        assert app.settings.database_url == db.url("outsider")
        assert app.client is not client
    assert (mill.app.settings, mill.app.client, mill.app.sync) == (outer, client, sync)


@pytest.mark.direct(reason="about an address that leads to no pooler")
def test_another_database_leaves_out_settings_that_lead_elsewhere(db: Database) -> None:
    elsewhere = "postgresql://nobody@nowhere.invalid/none"
    settings = Settings(database_url=elsewhere, listen_url=elsewhere, pooler="transaction", tenant="acme")
    app = Windlass(settings=settings)
    with app.at(db.url()):
        assert (app.settings.listen_url, app.settings.pooler) == (None, "none")
        assert app.settings.tenant == "acme"
    assert app.settings == settings


def test_jobs_are_found_by_the_part_that_matters(mill: Mill) -> None:
    mill.split.enqueue_sync(["rye", "oat"])
    mill.grind.options(key="k", queue="bin").enqueue_sync("rye")
    mill.grind.enqueue_sync("oat")
    assert [job.kind for job in jobs(mill.app)] == ["split", "grind", "grind"]
    assert [job.payload for job in jobs(mill.app, mill.grind)] == [{"name": "rye"}, {"name": "oat"}]
    assert [job.queue for job in jobs(mill.app, "grind", {"name": "rye"})] == ["bin"]
    assert [job.idempotency_key for job in jobs(mill.app, key="k")] == ["k"]
    assert jobs(mill.app, "split", {"names": ["rye"]}) == []
    assert len(jobs(mill.app, queue="bin", states=["queued"])) == 1
    assert jobs(mill.app, states="dead") == []


def test_assertions_say_what_is_there_instead(mill: Mill) -> None:
    with pytest.raises(AssertionError, match="expected a job of kind 'grind', found 0; there are no jobs"):
        assert_enqueued(mill.app, mill.grind)
    mill.grind.enqueue_sync("oat")
    mill.grind.enqueue_sync("rye")
    assert assert_enqueued(mill.app, mill.grind).payload == {"name": "rye"}
    assert assert_enqueued(mill.app, mill.grind, {"name": "oat"}, count=1).payload == {"name": "oat"}
    with pytest.raises(
        AssertionError, match=r"expected 1 job of kind 'grind', found 2;(.|\n)*'oat'(.|\n)*'rye'"
    ):
        assert_enqueued(mill.app, mill.grind, count=1)
    with pytest.raises(AssertionError, match="expected no job of kind 'grind' with"):
        assert_not_enqueued(mill.app, "grind", {"name": "oat"})
    assert_not_enqueued(mill.app, "grind", {"name": "wheat"})


def test_an_open_transaction_is_seen_through_its_own_connection(mill: Mill, db: Database) -> None:
    connection = db.connect(autocommit=False)
    mill.grind.options(connection=connection).enqueue_sync("rye")
    assert_not_enqueued(mill.app, mill.grind)
    assert_enqueued(mill.app, mill.grind, connection=connection)
    connection.rollback()
    assert_not_enqueued(mill.app, mill.grind, connection=connection)


def test_a_frozen_clock_stands_still_and_a_resumed_one_runs_on(db: Database) -> None:
    time = Clock(db.url("owner"))
    moment = time.freeze(datetime(2031, 5, 1, tzinfo=UTC))
    assert time.now() == moment == datetime(2031, 5, 1, tzinfo=UTC)
    assert time.advance(90) == time.now() == moment + timedelta(seconds=90)
    assert time.set(moment) == time.now() == moment
    assert moment < time.resume() < time.now() < moment + timedelta(hours=1)
    time.freeze(moment)
    before = db.fetch_value("select clock_timestamp()")
    assert before < time.reset() < time.now() < before + timedelta(hours=1)


def test_a_running_clock_can_be_moved_either_way(db: Database) -> None:
    time = Clock(db.url("owner"))
    before = time.now()
    assert time.advance(3600) >= before + timedelta(hours=1)
    assert time.advance(timedelta(hours=-1)) < before + timedelta(hours=1)
    time.set(datetime(2000, 1, 1, tzinfo=UTC))
    assert time.now().year == 2000
    with pytest.raises(InvalidInput, match="time zone"):
        time.set(datetime(2000, 1, 1))  # noqa: DTZ001 - what is refused


async def test_a_delay_is_counted_from_the_databases_time(mill: Mill, time: Clock) -> None:
    now = time.set(datetime(2040, 2, 29, 12, tzinfo=UTC))
    async with AsyncClient(mill.app.settings) as client:
        handle = await client.enqueue_job("later", delay=3600)
        assert (await handle.get()).run_at == now + timedelta(hours=1)
