"""clock: the time by which jobs are due, for those who may not ask the state schema."""

from datetime import timedelta

import pytest

from tests.support import Clock, Database


def test_it_is_the_clock_that_decides(db: Database, clock: Clock) -> None:
    clock.advance(timedelta(days=3))
    now = clock.freeze()
    assert db.fetch_value("select windlass.clock()") == now


@pytest.mark.parametrize("role", ["producer", "worker", "operator", "reader"])
def test_every_group_may_ask(db: Database, role: str) -> None:
    assert db.fetch_value("select windlass.clock() is not null", role=role)
