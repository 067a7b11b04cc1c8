"""PostgreSQL servers that may be killed: a primary, and a standby streamed from it by the same binaries."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from windlass.db.embedded.account import Account, bare_environment, server_account
from windlass.db.embedded.binaries import reachable_bin_dir
from windlass.db.embedded.providers import Provider, find_providers
from windlass.db.migrate import migrate

__all__ = ["PATIENCE", "Postgres", "find_provider", "until"]

PATIENCE = 60.0
SUPERUSER = "windlass_superuser"
APP_ROLES = ("windlass_producer", "windlass_worker", "windlass_operator", "windlass_reader")
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "dynamic_shared_memory_type": "mmap",
    "jit": "off",
    "timezone": "UTC",
    "lc_messages": "C",
    "log_line_prefix": "%m [%p] %e ",
    "log_checkpoints": "off",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "max_wal_size": "2GB",
    "wal_keep_size": "256MB",
    "wal_sender_timeout": "5s",
    "wal_retrieve_retry_interval": "100ms",
    **({"recovery_init_sync_method": "syncfs"} if sys.platform == "linux" else {}),
}


def find_provider(major: int | None = None) -> Provider:
    """The preferred binaries, or those of one major version."""
    found = [one for one in find_providers() if major is None or one.major == major]
    if not found:
        raise LookupError(f"no PostgreSQL {major or ''} binaries were found")
    return found[0]


def until(holds: Callable[[], Any], what: str, patience: float = PATIENCE) -> None:
    """Wait until the condition holds; the deadline is for a run that has failed already."""
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not in {patience:.0f} s: {what}")
        time.sleep(0.01)


class Postgres:
    """One server on a private socket.  It dies with us, and nobody restarts it but `start`."""

    def __init__(self, name: str, provider: Provider, settings: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._account: Account = server_account()
        self._bin = reachable_bin_dir(provider, self._account)
        self.root = Path(tempfile.mkdtemp(prefix="wlchaos-"))
        self.pgdata = self.root / "pgdata"
        self.socket_dir = self.root / "s"
        self.log = self.root / "log"
        self._settings = {**SETTINGS, **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self.socket_dir.mkdir()
        for path in (self.root, self.socket_dir):
            os.chown(path, self._account.uid, self._account.gid)

    def url(self, role: str = "windlass_app", database: str = "windlass") -> str:
        return f"postgresql://{role}@/{database}?host={self.socket_dir}&port=5432"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    # Life ---------------------------------------------------------------------------------------------------

    def create(self) -> None:
        """A new cluster with the product's roles, database and schema; it is running afterwards."""
        options = ["-U", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        self._run("initdb", "-D", self.pgdata, *options, "--no-instructions")
        self.start()
        with self.connect(database="postgres") as connection:
            connection.execute(resources.files("windlass").joinpath("sql", "roles.sql").read_bytes())
            connection.execute("alter role windlass_owner login")
            connection.execute("create role windlass_app login")
            for role in APP_ROLES:
                connection.execute(sql.SQL("grant {} to windlass_app").format(sql.Identifier(role)))
            connection.execute("create database windlass owner windlass_owner")
        migrate(self.url("windlass_owner"))

    def clone(self, primary: "Postgres") -> None:
        """Become a standby of `primary`; whatever was here goes.  It is running afterwards."""
        shutil.rmtree(self.pgdata, ignore_errors=True)
        source = f"host={primary.socket_dir} port=5432 user={SUPERUSER} application_name={self.name}"
        options = ["--checkpoint=fast", "--no-sync", "--wal-method=stream", "--write-recovery-conf"]
        self._run("pg_basebackup", "-D", self.pgdata, "-d", source, *options)
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it answers: a crash recovery is part of that."""
        assert not self.running
        told = {**self._settings, "unix_socket_directories": str(self.socket_dir)}
        options = [part for name, value in told.items() for part in ("-c", f"{name}={value}")]
        lent = self._account.is_lent
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_leash(), self._bin / "postgres", "-D", self.pgdata, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=bare_environment(),
                umask=0o077,
                user=self._account.uid if lent else None,
                group=self._account.gid if lent else None,
                extra_groups=[] if lent else None,
                start_new_session=True,
            )
        until(self._answers_or_ended, f"the server {self.name} answers")
        if not self.running:
            raise RuntimeError(f"the server {self.name} did not start: {self.log.read_text()[-2000:]}")

    def stop(self, number: signal.Signals = signal.SIGQUIT) -> None:
        """End it: SIGQUIT is an immediate shutdown, SIGINT a fast one; SIGKILL leaves not even a word."""
        if self._process is None:
            return
        if number is signal.SIGKILL:
            self._kill_all()
        elif self.running:
            self._process.send_signal(number)
        self._process.wait(PATIENCE)

    def _kill_all(self) -> None:
        """The postmaster and each of its processes at once, as when the machine is gone."""
        assert self._process is not None
        family = [self._process.pid, *_children(self._process.pid)]
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def remove(self) -> None:
        """Stop it and leave nothing behind."""
        self.stop(signal.SIGINT)
        shutil.rmtree(self.root, ignore_errors=True)

    def promote(self) -> None:
        """Make a standby the primary, and wait until it takes writes."""
        with self.connect(database="postgres") as connection:
            connection.execute("select pg_promote(true, 60)")

    def is_primary(self) -> bool:
        return self.running and self.ask("select pg_is_in_recovery()")[0][0] is False

    # Questions ----------------------------------------------------------------------------------------------

    def connect(
        self, role: str = SUPERUSER, database: str = "windlass", **options: Any
    ) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url(role, database), autocommit=True, connect_timeout=10, **options)

    def ask(self, text: str, *values: Any, role: str = SUPERUSER, database: str = "windlass") -> list[Any]:
        """Rows of a query, by a session of its own."""
        with self.connect(role, database) as connection:
            cursor = connection.execute(text.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def set(self, name: str, value: str) -> None:
        """A setting of the running server, which also its next start has."""
        with self.connect(database="postgres") as connection:
            text = sql.SQL("alter system set {} = {}").format(sql.Identifier(name), sql.Literal(value))
            connection.execute(text)
            connection.execute("select pg_reload_conf()")

    def told(self, text: str) -> list[str]:
        """The entries of the server's log that hold this, each with the lines that belong to it."""
        entries = re.split(r"\n(?=\d{4}-\d\d-\d\d )", self.log.read_text(errors="replace"))
        return [entry.strip() for entry in entries if text in entry.partition("\n")[0]]

    def _answers_or_ended(self) -> bool:
        if not self.running:
            return True
        try:
            self.ask("select 1", database="postgres")
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *arguments: str | Path) -> None:
        done = self._account.run([self._bin / program, *arguments])
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr.strip()}")


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def _leash() -> list[str]:
    """What makes the kernel end the server with the thread that started it, which should be the main one."""
    program = shutil.which("setpriv")
    return [] if program is None else [program, "--pdeathsig", "QUIT"]
