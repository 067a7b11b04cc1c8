"""A fleet of worker processes for each test, on the shared server or on one that may be broken."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.fleet import Fleet, fleet
from tests.support import Database
from windlass.db.embedded import EmbeddedServer
from windlass.db.migrate import migrate


@pytest.fixture
def crew(db: Database, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(db.url(), db.url("superuser"), tmp_path) as workers:
        yield workers


@pytest.fixture
def own_server() -> Iterator[EmbeddedServer]:
    """A server of the test's own, to be killed; what it has committed must outlive its processes."""
    with EmbeddedServer.start(ephemeral=True, settings={"synchronous_commit": "on"}) as server:
        migrate(server.url("windlass_owner"))
        yield server


@pytest.fixture
def lone_crew(own_server: EmbeddedServer, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(own_server.url(), own_server.url("windlass_superuser"), tmp_path) as workers:
        yield workers
