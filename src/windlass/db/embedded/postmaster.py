"""What is known about a postmaster from outside: its pid file, its process, its answer.

A pid file proves nothing: its process may be gone, a zombie, or by now a stranger.  A postmaster counts as
living only if that process is a postgres whose working directory is this very data directory; it counts as
ready only if it answers a real connection and names this data directory.
"""

import contextlib
import enum
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg

SUPERUSER = "windlass_superuser"
CONNECT_SECONDS = 10
POLL_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class PidFile:
    pid: int
    phase: str


class Answer(enum.Enum):
    READY = "ready"
    BUSY = "busy"  # alive, but starting, recovering (even if it lets readers in) or stopping
    SILENT = "silent"


def read_pid_file(pgdata: Path) -> PidFile | None:
    """The postmaster's own note: first line its pid, eighth line what it is doing."""
    try:
        lines = (pgdata / "postmaster.pid").read_text(errors="replace").splitlines()
        return PidFile(abs(int(lines[0])), lines[7].strip() if len(lines) > 7 else "")
    except (FileNotFoundError, NotADirectoryError, ValueError, IndexError):
        return None


def living_postmaster(pgdata: Path) -> int | None:
    """The pid of the postmaster that really works in `pgdata` now."""
    noted = read_pid_file(pgdata)
    if noted is None or not _is_postgres_in(noted.pid, pgdata):
        return None
    return noted.pid


def _is_postgres_in(pid: int, pgdata: Path) -> bool:
    if Path("/proc/self").is_dir():
        return _proc_says(pid, pgdata)
    shown = subprocess.run(
        ["ps", "-o", "stat=,command=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout
    return not shown.startswith("Z") and "postgres" in shown and str(pgdata) in shown


def _proc_says(pid: int, pgdata: Path) -> bool:
    """A zombie has no working directory any more, and a stranger's we may not read."""
    try:
        same_place = Path(f"/proc/{pid}/cwd").samefile(pgdata)
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        same_user = Path(f"/proc/{pid}").stat().st_uid == pgdata.stat().st_uid
    except (OSError, ValueError):
        return False
    return same_place and same_user and name.startswith("postgres")


def connect(
    socket_dir: Path, port: int, *, database: str = "postgres"
) -> psycopg.Connection[tuple[object, ...]]:
    """A superuser connection for the supervisor's own work; the caller's PG* variables do not bend it."""
    return psycopg.connect(
        host=str(socket_dir),
        port=port,
        user=SUPERUSER,
        dbname=database,
        application_name="windlass-supervisor",
        connect_timeout=CONNECT_SECONDS,
        options="",
        sslmode="disable",
        gssencmode="disable",
        target_session_attrs="any",
        autocommit=True,
    )


def ask(socket_dir: Path, port: int, pgdata: Path) -> Answer:
    """Whether the server at this socket is up, and is the one that serves `pgdata`."""
    try:
        with connect(socket_dir, port) as connection:
            row = connection.execute(
                "select pg_catalog.current_setting('data_directory'), pg_catalog.pg_is_in_recovery()"
            ).fetchone()
    except psycopg.OperationalError as error:
        # libpq gives connection failures no SQLSTATE; the server's messages are in English by our settings.
        return Answer.BUSY if "the database system is" in str(error) else Answer.SILENT
    if row is None or os.path.realpath(str(row[0])) != os.path.realpath(pgdata):
        return Answer.SILENT
    return Answer.BUSY if row[1] else Answer.READY


def end_postmaster(pgdata: Path, patience: float) -> None:
    """End a postmaster whose guardian is gone, so that the next one has a guardian again.

    On Linux the kernel told it to stop when the guardian died, so mostly this only waits.
    """
    pid = living_postmaster(pgdata)
    if pid is None:
        return
    _signal(pid, signal.SIGINT)
    deadline = time.monotonic() + patience
    while living_postmaster(pgdata) == pid:
        if time.monotonic() > deadline:
            _signal(pid, signal.SIGQUIT)
            deadline = time.monotonic() + patience
        time.sleep(POLL_SECONDS)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
