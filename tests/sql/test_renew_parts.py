"""renew_parts: the leases that are still held last longer, and the lost ones are named."""

from datetime import timedelta
from typing import Any

import pytest

from tests.sql.cluster import LEASE, Cluster
from tests.sql.operate import bind, call, callers
from tests.sql.steps import DEFAULT_TENANT, UNKNOWN, refused
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def expiries(db: Database) -> dict[Any, Any]:
    rows = db.fetch("select token, expires_at from windlass_data.cluster_part", role="superuser")
    return {row.token: row.expires_at for row in rows}


def lost(db: Database, *tokens: Any, lease: float | None = LEASE) -> list[Any]:
    return [row.token for row in call(db, "renew_parts", tokens=list(tokens), lease_seconds=lease)]


def test_from_now_on_for_as_long_as_was_asked(db: Database, clock: Clock) -> None:
    cluster = Cluster(db, "a", "b")
    cluster.create()
    (mine,), (theirs,) = cluster.claim("a"), cluster.claim("b")
    now = clock.freeze()
    assert lost(db, mine.token, lease=45) == []
    found = expiries(db)
    assert found[mine.token] == now + timedelta(seconds=45)
    assert found[theirs.token] == theirs.expires_at
    assert lost(db, mine.token, lease=2) == []
    assert expiries(db)[mine.token] == now + timedelta(seconds=2), "it may be shorter too"


def test_what_is_lost_is_named_and_stays_as_it_is(db: Database) -> None:
    cluster = Cluster(db, "a")
    cluster.create()
    (part,) = cluster.claim("a")
    cluster.end(part)
    with nothing_changed(db):
        assert lost(db, part.token, UNKNOWN) == [part.token, UNKNOWN]
        assert lost(db) == []


@pytest.mark.parametrize("lease", [0.05, 86_401.0, float("nan"), None])
def test_an_odd_lease_is_refused(db: Database, lease: float | None) -> None:
    with refused("WL007", "a renewal needs tokens"):
        lost(db, UNKNOWN, lease=lease)
    with refused("WL007", "a renewal needs tokens"):
        call(db, "renew_parts", tokens=None)


def test_workers_renew_and_none_that_is_bound_to_a_tenant(db: Database) -> None:
    cluster = Cluster(db, "a")
    cluster.create()
    (part,) = cluster.claim("a")
    assert callers(db, "renew_parts", tokens=[part.token]) == {"worker"}
    bind(db, "worker", DEFAULT_TENANT)
    with nothing_changed(db), refused("WL005"):
        call(db, "renew_parts", role="worker", tokens=[part.token])
