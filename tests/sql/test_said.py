"""Whatever a claim must keep to is noted where every claim looks first, in the transaction that says it."""

import pytest

from tests.sql.steps import DEFAULT_TENANT, Session
from tests.support import Database

pytestmark = pytest.mark.every_version

SAID = "select what from windlass_data.said order by 1"
WAYS = {
    "gate": "select windlass.set_gate(p_everything => true)",
    "job_limit": "select windlass.set_limit(p_queue => 'default', p_concurrency => 1, p_reason => 'test')",
    "queue": "select windlass.set_queue('default', 'strict')",
    "role_tenant": f"select windlass.bind_role('test_producer', '{DEFAULT_TENANT}')",
    "tenant": f"select windlass.set_tenant('{DEFAULT_TENANT}', 3)",
}


@pytest.mark.parametrize("what", WAYS)
def test_it_is_noted_with_what_is_said(db: Database, jobs: Session, what: str) -> None:
    operator = db.connect(autocommit=False)
    operator.execute(WAYS[what].encode())
    assert db.fetch(SAID, role="superuser") == [], "not before it is said"
    operator.commit()
    assert [row.what for row in db.fetch(SAID, role="superuser")] == [what]
    operator.execute(WAYS[what].encode())
    operator.commit()


def test_a_tenant_like_all_others_is_not_noted(db: Database, jobs: Session) -> None:
    jobs.call("select windlass.create_tenant('plain')")
    assert db.fetch(SAID, role="superuser") == []
