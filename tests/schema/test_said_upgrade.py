"""What was said before claims looked whether anything was, they keep to all the same."""

import pytest

from tests.support import Database
from windlass.db.migrate import migrate
from windlass.db.sqlfiles import load

pytestmark = pytest.mark.every_version

EARLIER = {
    "gate": "insert into windlass_data.gate (id, reason, actor) values (gen_random_uuid(), 'test', 'ada')",
    "tenant": "update windlass_data.tenant set weight = 3",
    "queue": "insert into windlass_data.queue (name, mode) values ('default', 'strict')",
}


def test_what_was_said_before_is_noted(empty_db: Database) -> None:
    names = [migration.name for migration in load().migrations]
    migrate(empty_db.url("owner"), target=names[names.index("0013_said") - 1])
    for statement in EARLIER.values():
        empty_db.execute(statement, role="superuser")
    migrate(empty_db.url("owner"))
    said = empty_db.fetch("select what from windlass_data.said order by what", role="superuser")
    assert [row.what for row in said] == sorted(EARLIER)
