"""From what the command line says to settings, a client, and the name of whoever acts."""

import getpass
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from windlass.cli.options import WrongUsage
from windlass.client import SyncClient
from windlass.settings import Settings

__all__ = ["actor_name", "database_now", "open_client", "read_settings"]

PATIENCE_SECONDS = 5.0


def read_settings(database_url: str | None = None, **overrides: Any) -> Settings:
    """The environment's settings with what the command line says before them."""
    return Settings.from_env(database_url=database_url, **overrides)


@contextmanager
def open_client(
    database_url: str | None, tenant: str | None = None, *, patience: float = PATIENCE_SECONDS
) -> Iterator[SyncClient]:
    """A client for one command; a database that cannot be reached is an error at once."""
    settings = read_settings(database_url)
    client = SyncClient(
        settings,
        tenant=tenant,
        actor=actor_name(),
        patience=patience,
        pool_size=1,
        checks_tenants=True,
    )
    with client:
        yield client


def actor_name() -> str:
    """Who acts, for the history: this machine's user."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number without a name
        user = f"uid-{os.getuid()}"
    return f"{user}@{socket.gethostname()}"


def database_now(client: SyncClient) -> datetime:
    """The database's time, by which everything about jobs is judged."""
    return datetime.fromisoformat(client.health()["now"])


def resolve_moment(client: SyncClient, given: datetime | timedelta | None, sign: int) -> datetime | None:
    """A moment as it is; a length of time counted from the database's now, back (-1) or ahead (+1)."""
    if not isinstance(given, timedelta):
        return given
    try:
        return database_now(client) + sign * given
    except OverflowError:
        end = "year 1" if sign < 0 else "year 9999"
        raise WrongUsage(f"a length of time of {given.days} days leads beyond the {end}") from None
