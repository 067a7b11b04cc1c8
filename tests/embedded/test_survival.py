"""Real processes and signals: whatever is killed, no server leaks, no data is lost, the next start works."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.embedded.stage import (
    PATIENCE,
    SOURCE,
    Actor,
    all_gone,
    answers,
    eventually,
    is_gone,
    read_rows,
    users,
    write_row,
)
from windlass.db.embedded import EmbeddedServer
from windlass.db.embedded.account import server_account
from windlass.db.embedded.locks import is_held
from windlass.db.embedded.postmaster import living_postmaster

by_user = pytest.mark.parametrize("nobody", users())


@by_user
def test_killed_python_leaves_no_ephemeral_server(nobody: bool) -> None:
    with Actor(nobody=nobody, ephemeral=True) as actor:
        home = Path(actor["data_dir"])
        assert answers(actor["url"])
        actor.signal(signal.SIGKILL)
        eventually(all_gone(*actor.server_pids), "server and guardian ended")
        assert not home.exists()


@by_user
def test_killed_python_leaves_no_persistent_server_and_all_data(
    nobody: bool, used_data_dir: Callable[[bool], Path]
) -> None:
    data_dir = used_data_dir(nobody)
    with Actor(nobody=nobody, data_dir=data_dir) as actor:
        write_row(actor["url"], "before")
        actor.signal(signal.SIGKILL)
        eventually(all_gone(*actor.server_pids), "server and guardian ended")
        assert "database system is shut down" in (data_dir / "server.log").read_text()
    with Actor(nobody=nobody, data_dir=data_dir) as actor:
        assert actor["owner"]
        assert read_rows(actor["url"]) == ["before"]


def test_terminated_python_leaves_no_server(data_dir: Path) -> None:
    with Actor(data_dir=data_dir) as actor:
        assert answers(actor["url"])
        actor.signal(signal.SIGTERM)
        eventually(all_gone(*actor.server_pids), "server and guardian ended")


def test_recovery_may_take_as_long_as_it_needs(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server answers "starting up" for several times as long as silence would be borne."""
    monkeypatch.setattr("windlass.db.embedded.launch.SILENT_SECONDS", 0.8)
    begun = data_dir / "pgdata" / "begun"
    (data_dir / "pgdata" / "recovery.signal").touch()
    fetch = "test -e begun || { touch begun; sleep 2.6; }; false"
    with EmbeddedServer.start(data_dir, settings={"restore_command": fetch}) as server:
        assert begun.exists()
        assert answers(server.url())


@by_user
def test_start_after_everything_was_killed_recovers(
    nobody: bool, used_data_dir: Callable[[bool], Path]
) -> None:
    data_dir = used_data_dir(nobody)
    with Actor(nobody=nobody, data_dir=data_dir) as actor:
        write_row(actor["url"], "before")
        actor.crash_everything()
    assert (data_dir / "pgdata" / "postmaster.pid").exists()
    with Actor(nobody=nobody, data_dir=data_dir) as actor:
        assert actor["owner"]
        assert read_rows(actor["url"]) == ["before"]
        assert "automatic recovery in progress" in (data_dir / "server.log").read_text()


def test_killed_postmaster_is_restarted_under_its_owner(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir) as server:
        write_row(server.url(), "before")
        killed = server.postmaster_pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: server.postmaster_pid not in (None, killed) and answers(server.url()), "restarted")
        assert read_rows(server.url()) == ["before"]
        assert EmbeddedServer.start(data_dir).owner is False


def test_start_right_after_the_postmaster_was_killed_attaches_to_the_recovered_server(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir) as server:
        write_row(server.url(), "before")
        killed = server.postmaster_pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        attached = EmbeddedServer.start(data_dir)
        assert attached.postmaster_pid not in (None, killed)
        assert read_rows(attached.url()) == ["before"]


def test_restart_waits_for_the_backends_that_outlived_the_postmaster(data_dir: Path) -> None:
    busy = "select pg_backend_pid() from generate_series(1, 1000000000) having count(*) > 0"
    with EmbeddedServer.start(data_dir) as server, psycopg.connect(server.url()) as connection:
        backend = connection.info.backend_pid
        worker = threading.Thread(target=_run_until_cut, args=(connection, busy))
        worker.start()
        try:
            eventually(lambda: _is_active(server, backend), "the backend computes")
            killed = server.postmaster_pid
            assert killed is not None
            os.kill(killed, signal.SIGKILL)
            held_back = "pre-existing shared memory block"
            eventually(lambda: held_back in server.log_path.read_text(), "a start was refused")
        finally:
            os.kill(backend, signal.SIGKILL)
            worker.join()
        eventually(lambda: answers(server.url()), "restarted once the backend was gone")


def _run_until_cut(connection: psycopg.Connection[tuple[object, ...]], query: str) -> None:
    with pytest.raises(psycopg.OperationalError):
        connection.execute(query)


def _is_active(server: EmbeddedServer, backend: int) -> bool:
    with psycopg.connect(server.url("windlass_superuser")) as watcher:
        row = watcher.execute(
            "select state, query from pg_stat_activity where pid = %s", [backend]
        ).fetchone()
    return row is not None and row[0] == "active" and "generate_series" in str(row[1])


def test_killed_guardian_ends_the_server_and_the_owner_can_start_it_again(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir) as server:
        write_row(server.url(), "before")
        pids = [server.guardian_pid, server.postmaster_pid or 0]
        url = server.url()
        os.kill(server.guardian_pid, signal.SIGKILL)
        eventually(all_gone(*pids), "the server ended with its guardian")
        server.ensure_running()
        assert server.owner
        assert server.url() == url
        assert read_rows(url) == ["before"]


def test_killed_guardian_leaves_nothing_after_stop() -> None:
    server = EmbeddedServer.start(ephemeral=True)
    postmaster = server.postmaster_pid
    os.kill(server.guardian_pid, signal.SIGKILL)
    server.stop()
    assert postmaster is not None
    assert is_gone(postmaster)
    assert not server.data_dir.exists()


def test_server_of_a_killed_guardian_is_replaced_by_the_next_start(data_dir: Path) -> None:
    with Actor(data_dir=data_dir) as actor:
        write_row(actor["url"], "before")
        postmaster, guardian = actor.server_pids
        os.kill(guardian, signal.SIGKILL)
        with EmbeddedServer.start(data_dir) as server:
            assert server.owner
            assert is_gone(postmaster)
            assert read_rows(server.url()) == ["before"]


@pytest.mark.parametrize("kind", ["dead", "zombie", "reused"])
def test_stale_pid_file_does_not_hold_up_a_start(kind: str, data_dir: Path) -> None:
    with Actor(data_dir=data_dir) as actor:
        write_row(actor["url"], "before")
        bin_dir = EmbeddedServer.start(data_dir).bin_dir
        actor.crash_everything()
    pgdata = data_dir / "pgdata"
    account = server_account()
    lent = {"user": account.uid, "group": account.gid, "extra_groups": []} if account.is_lent else {}
    stranger = subprocess.Popen(["sleep", "600"], **lent)  # type: ignore[call-overload]
    try:
        if kind != "reused":
            stranger.kill()
            eventually(lambda: is_gone(stranger.pid), "the stranger is a zombie")
        if kind == "dead":
            stranger.wait()
        _rename_in_pid_file(pgdata, stranger.pid)
        assert living_postmaster(pgdata) is None
        if kind != "dead":  # the control: PostgreSQL by itself takes this pid for a running server
            refused = account.run([bin_dir / "postgres", "-D", pgdata])
            assert "already exists" in refused.stderr
        with EmbeddedServer.start(data_dir) as server:
            assert read_rows(server.url()) == ["before"]
            assert kind != "reused" or not is_gone(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()


def _rename_in_pid_file(pgdata: Path, pid: int) -> None:
    path = pgdata / "postmaster.pid"
    path.write_text("\n".join([str(pid), *path.read_text().splitlines()[1:]]) + "\n")


def test_start_that_was_killed_half_way_is_taken_up_again(place: Path) -> None:
    stages: list[Callable[[Path], bool]] = [
        lambda home: any(home.glob("pgdata.new-*")),
        lambda home: (home / "pgdata").exists(),
        lambda home: (home / "server.lock").exists() and is_held(home / "server.lock"),
    ]
    home = place / "data"
    for reached in stages:
        with Actor(data_dir=home) as actor:
            eventually(lambda reached=reached: reached(home), "the stage is reached")  # type: ignore[misc]
            actor.signal(signal.SIGKILL)
    with EmbeddedServer.start(home) as server:
        assert answers(server.url())
        assert server.owner
    assert list(home.glob("pgdata.new-*")) == []


def test_server_lives_on_when_the_thread_that_started_it_ends(data_dir: Path) -> None:
    started: list[EmbeddedServer] = []
    thread = threading.Thread(target=lambda: started.append(EmbeddedServer.start(data_dir)))
    thread.start()
    thread.join()
    with started[0] as server:
        first = server.postmaster_pid
        assert answers(server.url())
        assert server.postmaster_pid == first


def test_forked_child_cannot_stop_its_parents_server(data_dir: Path) -> None:
    with Actor(data_dir=data_dir) as actor:
        postmaster = actor["postmaster"]
        actor.order("fork")
        assert actor["postmaster"] == postmaster
        assert answers(actor["url"])


SLOW_COMMAND = """#!/bin/sh
cd "$1"
trap 'asked=yes' TERM
touch begun
while [ -z "$asked" ]; do sleep 0.02; done
sleep 0.5
touch ended
"""
RUN_IT = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs us in the background
from windlass.db.embedded.account import server_account
server_account().run(["/bin/sh", *sys.argv[1:]])
"""


def test_a_command_that_is_interrupted_ends_in_order(place: Path) -> None:
    """As initdb must: if it were killed, its server's shared memory would stay."""
    place.chmod(0o777)
    script = place / "slow"
    script.write_text(SLOW_COMMAND)
    script.chmod(0o755)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", RUN_IT, script, place], env=environ, stderr=subprocess.PIPE, text=True
    ) as process:
        eventually((place / "begun").exists, "the command has begun")
        for _ in range(2):  # the second comes from an impatient hand
            process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in said
    assert (place / "ended").exists()
