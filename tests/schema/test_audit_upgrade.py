"""What was written before there was a chain is sealed after it, and jobs that were dead by then have died."""

from uuid import UUID

import pytest

from tests.sql.audit import seal, verify
from tests.sql.operate import events
from tests.sql.steps import DEFAULT_TENANT, UNKNOWN
from tests.support import Database
from windlass.db.migrate import migrate
from windlass.db.sqlfiles import load

pytestmark = pytest.mark.every_version

ACME = UUID("00000000-0000-7000-8000-0000000000ac")
NIL = UUID(int=0)
EARLIER = f"""
insert into windlass_data.tenant (id, slug, name) values ('{ACME}', 'acme', 'Acme');
insert into windlass_data.event (tenant_id, at, actor, action, reason)
select t, now(), 'ada', 'gate.set', repeat('x', 5000)
from unnest(array['{ACME}', '{DEFAULT_TENANT}', '{NIL}']::uuid[]) as t;
insert into windlass_data.attempt
  (tenant_id, job_id, version, counted, node_id, token, started_at, finished_at, outcome, ends, error)
values ('{ACME}', '{UNKNOWN}', 3, 3, '{UNKNOWN}', '{UNKNOWN}', now(), now(), 'crashed', 'dead',
        '{{"message": "gone", "type": "LeaseExpired"}}')
"""


def test_what_was_there_before_is_part_of_the_chain(empty_db: Database) -> None:
    names = [migration.name for migration in load().migrations]
    migrate(empty_db.url("owner"), target=names[names.index("0010_audit") - 1])
    empty_db.execute(EARLIER, role="superuser")
    migrate(empty_db.url("owner"))
    assert events(empty_db, ACME, "actor", "action", "job_id", "details ->> 'attempt'")[-1] == (
        "windlass",
        "job.dead",
        UNKNOWN,
        "3",
    )
    assert seal(empty_db) == 4
    for tenant, sealed in ((ACME, 2), (DEFAULT_TENANT, 1), (NIL, 1)):
        found = verify(empty_db.connection(), tenant)
        assert (found.fault, found.sealed, found.unsealed) == (None, sealed, 0)
