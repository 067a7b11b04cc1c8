"""Fixtures of the tests that use the client."""

from collections.abc import Iterator

import pytest

from tests.integration.shop import Shop
from tests.support import Database


@pytest.fixture
def shop(db: Database) -> Iterator[Shop]:
    shop = Shop(db)
    yield shop
    shop.app.close_sync()
