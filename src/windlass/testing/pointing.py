"""Point an application at another database for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

from windlass.app import Windlass

__all__ = ["use_database"]


@contextmanager
def use_database(app: Windlass, database_url: str) -> Iterator[Windlass]:
    """Within the block the application, its job functions, clients and workers use this database.

    Its other settings stay, except those that lead elsewhere (a pooler, a URL to listen on).
    """
    before = app._settings, app._client, app._sync
    elsewhere = {"database_url": database_url, "listen_url": None, "pooler": "none"}
    app._settings, app._client, app._sync = app.settings.model_copy(update=elsewhere), None, None
    try:
        yield app
    finally:
        app.close_sync()
        app._settings, app._client, app._sync = before
