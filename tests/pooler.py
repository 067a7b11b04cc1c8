"""PgBouncer before the tests' servers: `./run test --pooler`; `--pooler-polls`: no worker listens past it.

Transaction mode, two server sessions for each role and database.  Behind it are all connections of the
product: what a test gives to an application, a worker, a node or a command is then the pooler's address, and
their settings say so.  The sessions that tests open themselves, to look on or to hold a transaction open,
stay direct, and so does everything in a test marked `direct`, which gives its reason.
"""

import functools
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal
from unittest import mock

from psycopg.conninfo import conninfo_to_dict

from windlass.db.database import AsyncDatabase, SyncDatabase
from windlass.db.link import AsyncLink, SyncLink
from windlass.settings import Settings
from windlass.worker.worker import Worker

__all__ = [
    "PROGRAM",
    "LocalPooler",
    "Pooling",
    "environment_for",
    "pooled_defaults",
    "start_pgbouncer",
    "tell_of_pooler",
]

Pooling = Literal["listens", "polls"]
"""Whether workers behind the pooler are given a direct address to listen at."""

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
_BEHIND = "behind"
_PATIENCE = 30.0


def start_pgbouncer(
    directory: Path, upstream: Path, *, upstream_port: int = 5432, port: int = 6432, clients: int = 100
) -> subprocess.Popen[bytes]:
    """PgBouncer with two server sessions for everybody, on a private socket; ready when this returns."""
    assert PROGRAM is not None
    owner = upstream.stat().st_uid
    config, users = directory / "pgbouncer.ini", directory / "users"
    config.write_text(
        f"[databases]\n* = host={upstream} port={upstream_port}\n"
        f"[pgbouncer]\nlisten_addr =\nlisten_port = {port}\nunix_socket_dir = {directory}\n"
        f"auth_type = trust\nauth_file = {users}\nauth_user = windlass_superuser\n"
        "pool_mode = transaction\nserver_login_retry = 1\n"
        f"default_pool_size = 2\nmax_client_conn = {clients}\n"
        "ignore_startup_parameters = extra_float_digits\n"
    )
    users.write_text('"windlass_app" ""\n"windlass_superuser" ""\n')
    command = [PROGRAM, str(config)]
    if os.geteuid() == 0:  # it refuses to be root, and the socket belongs to the server's account
        for path in (directory, config, users):
            os.chown(path, owner, -1)
        command[1:1] = ["-u", pwd.getpwuid(owner).pw_name]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    # Not until it answers: the server behind it may be down, and whoever waits here may have to start it.
    socket, deadline = directory / f".s.PGSQL.{port}", time.monotonic() + _PATIENCE
    while process.poll() is None and not socket.exists():
        assert time.monotonic() < deadline, "the pooler does not listen"
        time.sleep(0.01)
    if process.poll() is not None:
        raise RuntimeError(f"pgbouncer ended with {process.returncode}")
    return process


class LocalPooler:
    """One PgBouncer before one server; `polls` keeps workers from listening past it."""

    def __init__(self, url: str, *, polls: bool) -> None:
        target = conninfo_to_dict(url)
        self.directory = Path(tempfile.mkdtemp(prefix="windlass-pooler-"))
        (self.directory / _BEHIND).write_text("" if polls else f"host={target['host']}&port={target['port']}")
        self._process = start_pgbouncer(
            self.directory, Path(str(target["host"])), upstream_port=int(str(target["port"])), clients=1000
        )

    def url(self, direct: str) -> str:
        parts = conninfo_to_dict(direct)
        return f"postgresql://{parts['user']}@/{parts['dbname']}?host={self.directory}&port=6432"

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self.directory)


def _behind(url: str | None) -> tuple[bool, str | None]:
    """Whether a URL leads through a pooler of the tests; the one past it, if workers may listen there."""
    parts = conninfo_to_dict(url) if url else {}
    told = Path(str(parts.get("host", ""))) / _BEHIND
    if not told.is_absolute() or not told.exists():
        return False, None
    address = told.read_text()
    return True, f"postgresql://{parts['user']}@/{parts['dbname']}?{address}" if address else None


def tell_of_pooler(url: str, directory: Path) -> None:
    """A socket in this directory leads on to where the URL leads, and so through the same pooler."""
    told = Path(str(conninfo_to_dict(url).get("host", ""))) / _BEHIND
    if told.exists():
        shutil.copy(told, directory / _BEHIND)


def environment_for(url: str | None) -> dict[str, str]:
    """What a process must be told beside its URL."""
    pooled, direct = _behind(url)
    if not pooled:
        return {}
    return {"WINDLASS_POOLER": "transaction", **({"WINDLASS_LISTEN_URL": direct} if direct else {})}


@contextmanager
def pooled_defaults() -> Iterator[None]:
    """Whatever is made in this process with a pooled URL, and no word about poolers, knows of the pooler.

    Tests of a hundred things need not say it one by one; those that say it themselves are left alone.
    """
    links = (AsyncLink, SyncLink, AsyncDatabase, SyncDatabase)
    with ExitStack() as stack:
        for name, value in (("pooler", property(_pooler_of)), ("listen_url", property(_listen_url_of))):
            stack.enter_context(mock.patch.object(Settings, name, value, create=True))
        for kind in (Worker, *links):
            told = _told(kind.__init__, listens=kind is Worker)
            stack.enter_context(mock.patch.object(kind, "__init__", told))
        yield


def _told(init: Callable[..., None], *, listens: bool) -> Callable[..., None]:
    @functools.wraps(init)
    def initialize(self: Any, url: str, *rest: Any, **options: Any) -> None:
        pooled, direct = _behind(url)
        if pooled and options.get("pooler", "none") == "none":
            options["pooler"] = "transaction"
            if listens:
                options["listen_url"] = options.get("listen_url") or direct
        init(self, url, *rest, **options)

    return initialize


def _pooler_of(settings: Settings) -> str:
    pooled, _ = _behind(settings.__dict__["database_url"])
    return "transaction" if pooled else str(settings.__dict__["pooler"])


def _listen_url_of(settings: Settings) -> str | None:
    given: str | None = settings.__dict__["listen_url"]
    told = settings.__dict__["pooler"] != "none"
    return given if told else given or _behind(settings.__dict__["database_url"])[1]
