"""The pytest plugin: fixtures, and nothing else until a test asks for one.

Under pytest-xdist each of its processes has a session, and so a server, of its own.
"""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def windlass_server() -> Iterator[Any]:
    """A temporary PostgreSQL server for the whole session (`windlass.testing.TemporaryServer`)."""
    from windlass.testing.server import TemporaryServer

    with TemporaryServer() as server:
        yield server


@pytest.fixture
def windlass_test(windlass_server: Any) -> Iterator[Any]:
    """A fresh database (`windlass.testing.TemporaryDatabase`)."""
    with windlass_server.database() as database:
        yield database


@pytest.fixture
def windlass_database(windlass_test: Any) -> str:
    """The URL of a fresh, migrated database, as the product connects to it."""
    url: str = windlass_test.url
    return url


@pytest.fixture
def windlass_clock(windlass_test: Any) -> Any:
    """The clock of this test's database (`windlass.testing.Clock`), stopped until the test moves it."""
    clock = windlass_test.clock()
    clock.freeze()
    return clock
