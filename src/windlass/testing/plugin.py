"""The pytest plugin: fixtures, and nothing else until a test asks for one.

Under pytest-xdist each of its processes has a session, and so a server, of its own.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest


@pytest.fixture(scope="session")
def windlass_server() -> Iterator[Any]:
    """A temporary PostgreSQL server for the whole session (`windlass.testing.TemporaryServer`)."""
    from windlass.testing.server import TemporaryServer

    with TemporaryServer() as server:
        yield server


@pytest.fixture
def windlass_temporary(windlass_server: Any) -> Iterator[Any]:
    """A fresh, migrated database (`windlass.testing.TemporaryDatabase`), dropped after the test."""
    with windlass_server.database() as database:
        yield database


@pytest.fixture
def windlass_database(windlass_temporary: Any) -> str:
    """The URL of this test's database, as the product connects to it."""
    url: str = windlass_temporary.url
    return url


@pytest.fixture
def windlass_clock(windlass_temporary: Any) -> Any:
    """The clock of this test's database (`windlass.testing.Clock`), stopped until the test moves it."""
    clock = windlass_temporary.clock()
    clock.freeze()
    return clock


@pytest.fixture
def windlass_use(windlass_database: str) -> Iterator[Callable[[Any], Any]]:
    """A function that points an application at this test's database, until the test ends, and returns it."""

    with ExitStack() as stack:
        yield lambda app: stack.enter_context(app.at(windlass_database))
