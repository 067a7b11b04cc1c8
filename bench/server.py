"""The server that is measured: our own on disk with durable settings, or one that somebody names."""

import asyncio
import itertools
import os
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import asyncpg

from bench.refusal import Refused
from windlass.db.embedded import EmbeddedServer
from windlass.db.migrate import migrate
from windlass.errors import WindlassError

__all__ = ["DURABLE", "Database", "MeasuredServer", "open_server"]

DURABLE = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "min_wal_size": "4GB",
    "jit": "off",
    "max_connections": "700",
}
IN_MEMORY = ("tmpfs", "ramfs")
_PREFIX = "windlass-bench-"
_SUPERUSER, _OWNER = "windlass_superuser", "windlass_owner"
_EXTERNAL_APP = "windlass_bench"
_APP_ROLES = "windlass_producer, windlass_worker, windlass_operator, windlass_reader"


@dataclass(frozen=True, slots=True)
class Database:
    """A fresh database: `admin_url` may do everything, `app_url` is what an application would use."""

    name: str
    admin_url: str
    app_url: str
    owner_url: str


class MeasuredServer:
    """Gives a fresh database for each measurement."""

    def __init__(self, admin_url: str, embedded: EmbeddedServer | None, password: str) -> None:
        self._admin_url = admin_url
        self._embedded = embedded
        self._password = password
        self._numbers = itertools.count(1)

    @property
    def postmaster_pid(self) -> int | None:
        """None where the server is somebody else's, perhaps on another machine."""
        return None if self._embedded is None else self._embedded.postmaster_pid

    @property
    def data_dir(self) -> Path | None:
        return None if self._embedded is None else self._embedded.data_dir

    async def connect(self, url: str | None = None) -> Any:
        return await asyncpg.connect(url or self._admin_url, statement_cache_size=0)

    @asynccontextmanager
    async def fresh(self, *, migrated: bool) -> AsyncIterator[Database]:
        """A database of its own, with the schema of Windlass if asked for; dropped afterwards."""
        name = f"windlass_bench_{os.getpid()}_{next(self._numbers)}"
        admin = await self.connect()
        try:
            owner = f" owner {_OWNER}" if migrated else ""
            await admin.execute(f"create database {name}{owner} template template0 encoding 'UTF8'")
            try:
                database = self._database(name)
                if migrated:
                    await asyncio.to_thread(migrate, database.owner_url)
                yield database
            finally:
                await admin.execute(f"drop database if exists {name} with (force)")
        finally:
            await admin.close()

    def _database(self, name: str) -> Database:
        if self._embedded is not None:
            url = self._embedded.url
            return Database(name, url(_SUPERUSER, name), url(database=name), url(_OWNER, name))
        admin = _with(self._admin_url, database=name)
        return Database(name, admin, _with(admin, user=_EXTERNAL_APP, password=self._password), admin)

    async def prepare(self) -> None:
        """Roles, on a server that is not ours: those of Windlass, and one login that has them."""
        if self._embedded is not None:
            return
        admin = await self.connect()
        try:
            await admin.execute((resources.files("windlass") / "sql" / "roles.sql").read_text())
            exists = await admin.fetchval("select true from pg_roles where rolname = $1", _EXTERNAL_APP)
            verb = "alter" if exists else "create"
            await admin.execute(f"{verb} role {_EXTERNAL_APP} login password '{self._password}'")
            await admin.execute(f"grant {_APP_ROLES} to {_EXTERNAL_APP}")
        finally:
            await admin.close()


@asynccontextmanager
async def open_server(database_url: str | None, base: Path | None) -> AsyncIterator[MeasuredServer]:
    """The named server, else one of our own that goes with everything in it at the end."""
    if database_url is not None:
        server = MeasuredServer(database_url, None, secrets.token_hex(16))
        try:
            await server.prepare()
        except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise Refused(f"the server of --database-url cannot be measured on: {error}") from None
        yield server
        return
    _sweep(base or _disk())
    home = (base or _disk()) / f"{_PREFIX}{os.geteuid()}-{os.getpid()}"
    starting = asyncio.ensure_future(asyncio.to_thread(EmbeddedServer.start, home, settings=DURABLE))
    try:
        try:
            embedded = await asyncio.shield(starting)
        except (WindlassError, OSError) as error:
            raise Refused(f"our own server did not start: {error}") from None
        yield MeasuredServer(embedded.url(_SUPERUSER, "postgres"), embedded, "")
    finally:
        with suppress(Exception):  # it said so already, if it could not start
            await asyncio.to_thread((await starting).stop)
        shutil.rmtree(home, ignore_errors=True)


def file_system(path: Path) -> str:
    """The type of the file system that holds a path; unknown where nothing tells."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "unknown"
    real = path.resolve()
    holding = [(where, kind) for where, kind in mounts if real.is_relative_to(where)]
    return max(holding, key=lambda mount: len(mount[0]), default=("", "unknown"))[1]


def _disk() -> Path:
    """A directory that outlives a restart, so that it is not kept in memory."""
    for candidate in (Path("/var/tmp"), Path.home()):
        if candidate.is_dir() and os.access(candidate, os.W_OK) and file_system(candidate) not in IN_MEMORY:
            return candidate
    raise Refused("there is no directory on a disk to measure on: name one with --data-dir")


def _sweep(base: Path) -> None:
    """Remove what benches that were killed have left."""
    for left in base.glob(f"{_PREFIX}{os.geteuid()}-*"):
        number = left.name.rpartition("-")[2]
        if number.isdecimal() and not Path(f"/proc/{number}").exists():
            with suppress(OSError):
                shutil.rmtree(left)


def _with(url: str, *, database: str | None = None, user: str | None = None, password: str = "") -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    login = (
        parts.netloc.rpartition("@")[0]
        if user is None
        else f"{quote(user, safe='')}:{quote(password, safe='')}"
    )
    where = f"{login}@{host}" if login else host
    path = parts.path if database is None else f"/{database}"
    return f"{parts.scheme}://{where}{path}" + (f"?{parts.query}" if parts.query else "")
