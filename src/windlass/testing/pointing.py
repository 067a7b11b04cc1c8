"""Point an application at another database for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

from windlass.app import Windlass

__all__ = ["use_database"]


@contextmanager
def use_database(app: Windlass, database_url: str) -> Iterator[Windlass]:
    """Within the block the application, its job functions, clients and workers use this database."""
    with app.at(database_url):
        yield app
