"""The one question a process asks at its start: where is my database?"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from windlass.db.embedded.bootstrap import OWNER
from windlass.db.embedded.server import EmbeddedServer
from windlass.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Database:
    """Where to connect: `app_url` for work, `owner_url` for migrations; `server` only if it is embedded."""

    app_url: str
    owner_url: str
    server: EmbeddedServer | None = None

    def close(self) -> None:
        """Stop the embedded server if this process owns it; a database of others is left alone."""
        if self.server is not None:
            self.server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def ensure_server(
    database_url: str | None = None,
    *,
    data_dir: Path | None = None,
    ephemeral: bool = False,
    bin_dir: Path | None = None,
    tcp: bool = False,
    settings: Mapping[str, str] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Database:
    """The given database, else that of WINDLASS_DATABASE_URL, else the embedded server, started if need be.

    Where a URL is given nothing is ever started.  A variable that is set but empty counts as not set; an
    empty argument is a mistake of the caller's.
    """
    if database_url is not None and not database_url.strip():
        raise InvalidInput("the database URL is empty: pass None to use the embedded server")
    given = database_url or environ.get("WINDLASS_DATABASE_URL")
    if given:
        return Database(given, given)
    server = EmbeddedServer.start(data_dir, ephemeral=ephemeral, bin_dir=bin_dir, settings=settings, tcp=tcp)
    return Database(server.url(), server.url(OWNER), server)
