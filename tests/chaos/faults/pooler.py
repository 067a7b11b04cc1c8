"""A worker behind PgBouncer in transaction mode, which is itself restarted."""

import os
import pwd
import shutil
import subprocess
from pathlib import Path

from tests.chaos.faults.base import Fault
from tests.chaos.postgres import until
from tests.chaos.site import Slot

__all__ = ["Pooler", "start_pgbouncer"]

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def start_pgbouncer(
    directory: Path, upstream: Path, *, upstream_port: int = 5432, port: int = 6432
) -> subprocess.Popen[bytes]:
    """PgBouncer with two server sessions for everybody, on a private socket; ready when this returns."""
    assert PROGRAM is not None
    owner = upstream.stat().st_uid
    config = directory / "pgbouncer.ini"
    config.write_text(
        f"[databases]\n* = host={upstream} port={upstream_port}\n"
        f"[pgbouncer]\nlisten_addr =\nlisten_port = {port}\nunix_socket_dir = {directory}\n"
        f"auth_type = trust\nauth_file = {directory}/users\npool_mode = transaction\nserver_login_retry = 1\n"
        "default_pool_size = 2\nmax_client_conn = 100\nignore_startup_parameters = extra_float_digits\n"
    )
    (directory / "users").write_text('"windlass_app" ""\n')
    command = [PROGRAM, str(config)]
    if os.geteuid() == 0:  # it refuses to be root, and the socket belongs to the server's account
        for path in (directory, config, directory / "users"):
            os.chown(path, owner, -1)
        command[1:1] = ["-u", pwd.getpwuid(owner).pw_name]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    # Not until it answers: the server behind it may be down, and whoever waits here may have to start it.
    socket = directory / f".s.PGSQL.{port}"
    until(lambda: process.poll() is not None or socket.exists(), "the pooler listens")
    if process.poll() is not None:
        raise RuntimeError(f"pgbouncer ended with {process.returncode}")
    return process


class Pooler(Fault):
    """One more worker lives behind a transaction pooler; the fault is the pooler's own restart."""

    name = "pooler"
    leases = 0.5
    _slot: Slot | None = None
    _process: subprocess.Popen[bytes] | None = None

    def absent(self) -> str | None:
        if PROGRAM is None:
            return "pgbouncer is not installed"
        return "it knows one server only" if self.site.standby is not None else None

    def prepare(self) -> None:
        self._directory = self.site.short / "b"
        self._directory.mkdir()
        self._start()
        url = f"postgresql://windlass_app@/windlass?host={self._directory}&port=6432"
        self._slot = self.site.open_slot("pooled", url, pooler="transaction")

    def start(self) -> None:
        self._stop()

    def heal(self) -> None:
        if self._process is None:
            self._start()

    def describe(self) -> str:
        return "PgBouncer of the worker `pooled` killed and started"

    def close(self) -> None:
        self._stop()

    def _start(self) -> None:
        self._process = start_pgbouncer(self._directory, self.site.primary.socket_dir)

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for left in self._directory.glob(".s.PGSQL.*"):
                left.unlink()
