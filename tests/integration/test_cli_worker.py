"""`windlass worker` and `windlass up`: started, used and ended as a service manager would."""

import json
import os
import pty
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.integration.command import APPLICATION, PATIENCE, Command, eventually
from tests.support import Database
from windlass.cli.process import psql_line

TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # whoever owns a terminal is told when it is closed
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    (tmp_path / "shop.py").write_text(APPLICATION)
    return Command(tmp_path, db.url())


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the server's account may enter, which pytest's own are not for root."""
    path = Path(tempfile.mkdtemp(prefix="windlass-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def test_a_worker_runs_jobs_and_ends_when_told(windlass: Command) -> None:
    with windlass.running("worker", "shop:app", "--name", "mill", "--concurrency", 3) as worker:
        assert worker.ready["kinds"] == ["add", "fall", "rest", "send"]
        assert (worker.ready["node_name"], worker.ready["queues"]) == ("mill", ["default"])

        done = windlass("enqueue", "add", '{"a": 1, "b": 2}', "--wait", "--wait-timeout", "60", "--json")
        assert (done.ok().json["state"], done.json["result"]) == ("succeeded", 3)
        failed = windlass.here("enqueue", "fall", '{"reason": "tired"}', "--max-attempts", 1, "--wait")
        assert failed.code == 9
        assert "dead after 1 attempt: tired" in failed.err

        (node,) = windlass.here("nodes", "--json").ok().json["items"]
        assert (node["id"], node["active"], node["concurrency"]) == (worker.ready["node_id"], True, 3)
        ended = worker.stop()
    assert ended.code == 0
    assert "send: enqueued to the queue mail, from which this node takes nothing" in ended.err
    assert ended.err.count("takes nothing") == 1
    assert windlass.here("nodes", "--json").ok().json["items"] == []


def test_a_failure_says_nothing_of_what_is_not_installed(windlass: Command) -> None:
    (windlass.cwd / "uvloop.py").write_text("raise ImportError('uvloop is hidden')\n")
    (windlass.cwd / "frail.py").write_text(
        "from windlass import Windlass\n"
        "app = Windlass()\n"
        "@app.job(max_attempts=1)\n"
        "async def fall() -> None:\n"
        "    raise ValueError('tired')\n"
    )
    with windlass.running("worker", "frail:app"):
        assert windlass("enqueue", "fall", "--max-attempts", 1, "--wait").code == 9
    (job,) = windlass.here("jobs", "list", "--json").ok().json["items"]
    assert "ValueError: tired" in job["error"]["traceback"]
    assert "uvloop" not in job["error"]["traceback"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_waits_and_the_second_does_not(windlass: Command, number: signal.Signals) -> None:
    job_id = windlass.here("enqueue", "rest", '{"seconds": 600}').ok().out.strip()

    def state() -> str:
        return str(windlass.here("jobs", "show", job_id, "--json").ok().json["job"]["state"])

    with windlass.running("worker", "shop:app", "--queues", "default,mail", "--grace", "10m") as worker:
        eventually(lambda: state() == "running", "the job runs")
        worker.send(number)
        eventually(lambda: "worker stopping" in worker.log, "it is stopping")
        assert state() == "running"
        ended = worker.stop(number)
    assert ended.code == 0
    attempts = windlass.here("jobs", "show", job_id, "--json").ok().json["attempts"]
    assert [attempt["outcome"] for attempt in attempts] == ["released"]


def outcomes(windlass: Command, job_id: str) -> list[str | None]:
    attempts = windlass.here("jobs", "show", job_id, "--json").ok().json["attempts"]
    return [attempt["outcome"] for attempt in attempts]


def test_a_worker_whose_terminal_is_closed_stops_in_order(windlass: Command) -> None:
    job_id = windlass.here("enqueue", "rest", '{"seconds": 600}').ok().out.strip()
    ours, theirs = pty.openpty()
    worker = subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, "-m", "windlass", "worker", "shop:app", "--grace", "1s"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=windlass.cwd,
        env={**windlass.environment, "TERM": "xterm"},
        start_new_session=True,
    )
    try:
        eventually(lambda: outcomes(windlass, job_id) == [None], "the job runs")
        os.close(theirs)
        os.close(ours)
        assert worker.wait(timeout=PATIENCE) >= 0, "it was ended by the signal"
    finally:
        worker.kill()
        worker.wait()
    assert outcomes(windlass, job_id) == ["released"]
    assert windlass.here("nodes", "--json").ok().json["items"] == [], "it has said farewell"


def test_a_terminal_too_gets_one_line_of_json_when_it_is_ready(windlass: Command) -> None:
    ours, theirs = pty.openpty()
    worker = subprocess.Popen(
        [sys.executable, "-m", "windlass", "worker", "shop:app", "--name", "mill", "--json"],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        cwd=windlass.cwd,
        env=windlass.environment,
    )
    os.close(theirs)
    try:
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            assert json.loads(terminal.readline())["node_name"] == "mill"
            worker.terminate()
            assert worker.wait(timeout=PATIENCE) == 0
    finally:
        worker.kill()
        worker.wait()


def test_a_hang_up_said_twice_is_not_a_second_request(windlass: Command) -> None:
    job_id = windlass.here("enqueue", "rest", '{"seconds": 3}').ok().out.strip()
    with windlass.running("worker", "shop:app", "--grace", "10m") as worker:
        eventually(lambda: outcomes(windlass, job_id) == [None], "the job runs")
        worker.send(signal.SIGHUP)
        eventually(lambda: "worker stopping" in worker.log, "it is stopping")
        ended = worker.stop(signal.SIGHUP)
    assert (ended.code, outcomes(windlass, job_id)) == (0, ["succeeded"])


def test_a_worker_under_nohup_outlives_its_terminal(windlass: Command) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup leaves it to what it starts
    try:
        with windlass.running("worker", "shop:app") as worker:
            worker.send(signal.SIGHUP)
            assert windlass("enqueue", "add", '{"a": 1}', "--wait", "--wait-timeout", "60").ok().out == "2\n"
            assert "stopping" not in worker.log
            assert worker.stop().code == 0
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("shop", "write module:app"),
        ("absent:app", "there is no module absent"),
        ("shop:missing", "the module shop has no 'missing'; there is shop:app, shop:empty"),
        ("shop:number", "shop:number is an int, not a Windlass object"),
        ("shop:empty", "shop:empty has no jobs"),
        ("broken:app", "the module broken cannot be imported: ZeroDivisionError"),
        ("needy:app", "the module needy needs not_installed_here, which is not installed"),
    ],
)
def test_a_wrong_application_gets_a_clear_sentence(windlass: Command, name: str, sentence: str) -> None:
    (windlass.cwd / "broken.py").write_text("1 / 0\n")
    (windlass.cwd / "needy.py").write_text("import not_installed_here\n")
    with mock.patch.dict(sys.modules), mock.patch.object(sys, "path", [*sys.path]):
        answer = windlass.here("worker", name, "--json")
    assert (answer.code, answer.out, answer.error["code"]) == (6, "", "invalid_input")
    assert sentence in answer.error["message"]


def test_a_worker_refuses_an_application_with_a_database_of_its_own(windlass: Command) -> None:
    (windlass.cwd / "named.py").write_text(
        "from windlass import Windlass\n"
        "app = Windlass('postgresql://h/a')\n"
        "@app.job\n"
        "def sweep() -> None: ...\n"
    )
    with (
        mock.patch.dict(sys.modules),
        mock.patch.object(sys, "path", [*sys.path]),
        mock.patch.dict(os.environ),
    ):
        answer = windlass.here("worker", "named:app", "--database-url", "postgresql://h/b")
    assert answer.code == 6
    assert "names a database itself, and --database-url another" in answer.err


def test_a_worker_refuses_a_database_without_windlass(empty_db: Database, windlass: Command) -> None:
    windlass.environment["WINDLASS_DATABASE_URL"] = empty_db.url("owner")
    answer = windlass("worker", "shop:app")
    assert answer.code == 8
    assert "windlass migrate" in answer.err


def test_wrong_settings_of_a_worker(windlass: Command) -> None:
    assert windlass("worker", "shop:app", "--concurrency", 0).code == 6
    assert windlass("worker", "shop:app", "--queues", "a,,b").code == 2


def test_up_brings_everything_and_takes_it_away(place: Path) -> None:
    (place / "shop.py").write_text(APPLICATION)
    windlass = Command(place, WINDLASS_DATA_DIR=str(place / "data"))
    with windlass.running("up", "--app", "shop:app") as up:
        assert (up.ready["data_dir"], up.ready["server_started"]) == (str(place / "data"), True)
        assert "windlass_app@" in up.ready["database_url"]
        done = windlass("enqueue", "add", '{"a": 1}', "--wait", "--wait-timeout", "60")
        assert done.ok().out == "2\n"
        assert windlass("doctor").code == 0
        with windlass.running("up") as second:
            assert (second.ready["server_started"], second.ready["kinds"]) == (False, [])
            assert second.stop().code == 0
        assert up.stop().code == 0
    assert not (place / "data" / "pgdata" / "postmaster.pid").exists()
    assert windlass("jobs", "list").code == 7


def test_a_worker_beside_up_says_the_same_way_in(place: Path) -> None:
    (place / "shop.py").write_text(APPLICATION)
    windlass = Command(place, WINDLASS_DATA_DIR=str(place / "data"))
    with windlass.running_in_words("up") as up, windlass.running_in_words("worker", "shop:app") as worker:
        (way_in,) = [line for line in up.splitlines() if line.startswith("connect")]
        assert "/psql " in way_in, "that of the embedded server"
        assert way_in in worker.splitlines()


def test_a_second_up_takes_the_server_over_when_the_first_ends(place: Path) -> None:
    (place / "shop.py").write_text(APPLICATION)
    windlass = Command(place, WINDLASS_DATA_DIR=str(place / "data"))
    with windlass.running("up") as first, windlass.running("up", "--app", "shop:app") as second:
        windlass("enqueue", "add", '{"a": 1}', "--wait", "--wait-timeout", "60").ok()
        assert first.stop().code == 0
        eventually(lambda: "started again, here" in second.log, "the second has taken over")
        again = windlass("enqueue", "add", '{"a": 2}', "--wait", "--wait-timeout", "60")
        assert again.ok().out == "3\n"
        assert second.stop().code == 0
    assert not (place / "data" / "pgdata" / "postmaster.pid").exists()


def test_a_shell_can_read_the_way_in(tmp_path: Path) -> None:
    bin_dir = tmp_path / "my programs"
    bin_dir.mkdir()
    (bin_dir / "psql").touch(mode=0o755)
    url = "postgresql://windlass_app@/windlass?host=/run/it&port=5432"
    assert shlex.split(psql_line(bin_dir, url)) == [str(bin_dir / "psql"), url]
    assert shlex.split(psql_line(None, url)) == ["psql", url]


def test_up_says_where_the_database_is_and_how_to_get_in(db: Database, tmp_path: Path) -> None:
    """With a database of one's own, nothing is started."""
    windlass = Command(tmp_path, db.url())
    with windlass.running("up") as up:
        assert (up.ready["data_dir"], up.ready["server_started"]) == (None, False)
        assert up.stop().code == 0


def test_a_newcomer_sees_soon_that_jobs_succeed(windlass: Command) -> None:
    windlass.here("enqueue", "add", '{"a": 1}').ok()
    with windlass.running("worker", "shop:app") as worker:
        eventually(lambda: "1 job succeeded" in worker.log, "the first is summed up")
