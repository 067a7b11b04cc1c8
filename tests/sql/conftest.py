"""Fixtures of the SQL tests."""

import pytest

from tests.sql.steps import OTHER_TENANT, Session
from tests.sql.two import Two
from tests.support import Database


@pytest.fixture
def jobs(db: Database) -> Session:
    """The default tenant's caller, on the product's own login."""
    return Session(db.connection())


@pytest.fixture
def other(db: Database) -> Session:
    """A second tenant's caller, on the same login."""
    db.execute(
        "insert into windlass_data.tenant (id, slug, name) values (%s, 'other', 'Other')",
        OTHER_TENANT,
        role="superuser",
    )
    return Session(db.connection(), OTHER_TENANT)


@pytest.fixture
def two(db: Database) -> Two:
    """Two more sessions, for a race between them."""
    return Two(db)
