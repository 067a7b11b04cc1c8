"""On a server that compiles dear plans none of ours is: that takes longer than a thousand jobs.

Packaged servers have the compiler, with `jit` on; the embedded ones have none, and there this is no question.
"""

import pytest
from psycopg import Connection

from tests.sql.steps import Session
from tests.support import Database

pytestmark = pytest.mark.every_version

MAIL = '{"kind": "mail"}'
HELD = "array(select id from windlass_data.lease), array(select job_ids[1] from windlass_data.lease)"
PLAIN = "select windlass_data.clock(), count(*) from windlass_data.job"


def plans_of(conn: Connection[object], query: str) -> list[str]:
    """All plans that a statement came to, those within functions too, as the server logs them."""
    plans: list[str] = []

    def note(diagnostic: object) -> None:
        plans.append(str(getattr(diagnostic, "message_primary", "")))

    conn.add_notice_handler(note)
    try:
        conn.execute(query.encode())
    finally:
        conn.remove_notice_handler(note)
    return plans


def test_no_plan_is_compiled(db: Database, jobs: Session) -> None:
    conn = db.connect("superuser")
    conn.execute("set jit = on")
    [(available,)] = conn.execute("select pg_jit_available()").fetchall()
    if not available:
        return
    jobs.enqueue("mail")
    for setting in (
        "load 'auto_explain'",
        "set auto_explain.log_min_duration = 0",
        "set auto_explain.log_analyze = on",
        "set auto_explain.log_nested_statements = on",
        "set client_min_messages = log",
        "set jit_above_cost = 0",
    ):
        conn.execute(setting)
    tenant, node = f"'{jobs.tenant}'::uuid", f"'{jobs.node}'::uuid"
    calls = (
        f"select windlass.enqueue_job({tenant}, 'mail')",
        f"select windlass.enqueue_many({tenant}, '{MAIL}', '[1]', array[gen_random_uuid()])",
        f"select windlass.claim_jobs({node}, array['default'], p_limit => 10)",
        f"select windlass.complete_jobs({HELD})",
        f"select windlass.list_jobs({tenant})",
    )
    for call in calls:
        plans = plans_of(conn, call)
        assert len(plans) > 1, "those within the function"
        # The last is the caller's own statement, under the caller's settings.
        assert [plan for plan in plans[:-1] if "JIT:" in plan] == []
    assert "JIT:" in "".join(plans_of(conn, PLAIN)), "where nobody has said otherwise, plans are compiled"
