"""Fixtures of the hostile tests."""

from collections.abc import Iterator

import pytest

from tests.support import Database
from windlass.client import SyncClient
from windlass.settings import Settings


@pytest.fixture
def client(db: Database) -> Iterator[SyncClient]:
    with SyncClient(Settings(database_url=db.url())) as client:
        yield client
