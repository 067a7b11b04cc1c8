"""Who acts and why, said at a length that no audit keeps: refused with a code, by every function."""

import psycopg
import pytest

from tests.sql.operate import kill
from tests.sql.steps import NODE, Session
from tests.sql.whole import nothing_changed
from tests.support import Database

# One call for every function that is told who acts and why; each would do something.
SAID = {
    "cancel_job": "p_tenant => %(tenant)s, p_job => %(job)s",
    "reschedule_job": "p_tenant => %(tenant)s, p_job => %(job)s, p_run_at => '2100-01-01Z'",
    "redrive_jobs": "p_tenant => %(tenant)s, p_jobs => array[%(dead)s]",
    "set_gate": "p_queue => 'q'",
    "clear_gate": "p_queue => 'held'",
    "set_queue": "p_queue => 'q', p_mode => 'strict'",
    "set_tenant": "p_tenant => %(tenant)s, p_weight => 7",
    "create_tenant": "p_slug => 'fresh'",
    "bind_role": "p_role => 'test_reader', p_tenant => %(tenant)s",
    "unbind_role": "p_role => 'test_worker'",
    "drain_node": "p_node => 'alive'",
}
TOO_LONG = (("漢" * 2001, "ada"), ("why", "漢" * 201), ("x" * 10_000_000, None))


@pytest.fixture
def jobs(db: Database) -> Session:
    return Session(db.connection())


def test_every_function_that_is_told_why_looks_at_it(db: Database) -> None:
    unchecked = db.fetch(
        "select proname from pg_proc where pronamespace = 'windlass'::regnamespace and proname !~ '^_' "
        "and proargnames @> array['p_reason'] and strpos(prosrc, '_check_said(p_reason, p_actor)') = 0",
        role="superuser",
    )
    assert unchecked == []


def test_a_reason_or_an_actor_without_end(db: Database, jobs: Session) -> None:
    """Refused before anything happens; at the very limit it is kept."""
    given = {"tenant": jobs.tenant, "job": jobs.enqueue(), "dead": kill(jobs, kind="dies")}
    jobs.call("select windlass.set_gate(p_queue => 'held')")
    jobs.call("select windlass.bind_role('test_worker', %s)", jobs.tenant)
    jobs.call("select windlass.heartbeat_node(%s, 'alive', '', 1, '1', '{}', '{}', 1)", NODE)
    texts = {
        name: f"select windlass.{name}({known}, p_reason => %(reason)s, p_actor => %(actor)s)"
        for name, known in SAID.items()
    }
    with nothing_changed(db):
        for text in texts.values():
            for reason, actor in TOO_LONG:
                with pytest.raises(psycopg.Error, match="are the most") as caught:
                    jobs.conn.execute(text.encode(), {**given, "reason": reason, "actor": actor})
                assert caught.value.sqlstate == "WL007", text
    kept = {"reason": "漢" * 2000, "actor": "漢" * 200}
    for name in (*(name for name in texts if name != "cancel_job"), "cancel_job"):
        jobs.conn.execute(texts[name].encode(), {**given, **kept})
    query = "select count(*) from windlass_data.event where reason = %s and actor = %s"
    assert db.fetch_value(query, *kept.values(), role="superuser") == len(SAID)
