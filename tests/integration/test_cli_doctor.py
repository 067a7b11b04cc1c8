"""`windlass doctor` finds what is wrong, and finds nothing where nothing is."""

import itertools
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.chaos.test_pooler import pooled_url
from tests.integration.command import Answer, Command
from tests.pooler import PROGRAM
from tests.sql.bulk import keep_statistics_still
from tests.support import Clock, Database
from windlass.cli.doctor.standing import check_standing
from windlass.cli.text import stamp
from windlass.db.embedded import EmbeddedServer
from windlass.db.migrate import migrate

NODE = "00000000-0000-7000-8000-00000000000a"

__all__ = ["pooled_url"]


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    db.fetch("select windlass.heartbeat_node(%s, 'mill')", NODE)
    return Command(tmp_path, db.url())


def finding(answer: Answer, check: str) -> Any:
    (found,) = [found for found in answer.json["findings"] if found["check"] == check]
    return found


def test_a_sound_installation(windlass: Command, db: Database) -> None:
    answer = windlass("doctor", "--json").ok()
    assert answer.json["ok"] is True
    assert {found["check"]: found["level"] for found in answer.json["findings"]} == dict.fromkeys(
        [
            "connection",
            "server",
            "schema",
            "role",
            "isolation",
            "pooler",
            "clock",
            "listener",
            "row security",
            "oldest transaction",
            "dead rows",
            "notices",
            "leases",
            "partitions",
            "nodes",
            "kinds",
        ],
        "ok",
    )
    assert all(found["advice"] is None for found in answer.json["findings"])

    lines = windlass.here("doctor").ok().out.splitlines()
    assert len(lines) == len(answer.json["findings"])
    assert all(line.startswith("ok ") for line in lines)
    # The job that it tried row-level security with is gone again.
    assert db.fetch_value("select count(*) from windlass_data.job", role="superuser") == 0


def test_a_superuser_is_not_held_by_row_level_security(windlass: Command, db: Database) -> None:
    answer = windlass.here("doctor", "--json", "--database-url", db.url("superuser"))
    assert answer.code == 1
    assert finding(answer, "role")["level"] == "fail"
    assert "a superuser: it reads the rows of every tenant" in finding(answer, "role")["sentence"]
    isolation = finding(answer, "isolation")
    assert isolation["level"] == "fail"
    assert isolation["details"]["leaks"] == ["no tenant set", "a malformed tenant", "another tenant"]


def test_an_exempt_role_without_rights_on_the_tables_sees_one_tenant_still(
    windlass: Command, db: Database
) -> None:
    db.execute(
        "create role exempt login bypassrls in role windlass_producer, windlass_reader", role="superuser"
    )
    try:
        answer = windlass.here("doctor", "--json", "--database-url", db.server.url("exempt", db.name)).ok()
    finally:
        db.execute("drop role exempt", role="superuser")
    assert finding(answer, "role")["level"] == "warn"
    assert "only that it may not read the tables" in finding(answer, "role")["sentence"]
    assert finding(answer, "isolation")["level"] == "ok"


def test_a_role_in_no_group(windlass: Command, db: Database) -> None:
    answer = windlass.here("doctor", "--json", "--database-url", db.url("outsider"))
    assert answer.code == 1
    assert finding(answer, "role")["advice"] == (
        "As an administrator, for each of windlass_producer, windlass_worker, windlass_operator,"
        " windlass_reader that it needs: grant … to test_outsider;"
    )
    assert finding(answer, "schema")["level"] == "fail"


@pytest.mark.outer_versions  # what a member may do is said anew since 16
@pytest.mark.parametrize("login", ["windlass_owner", "migrator"])
def test_whoever_migrates_is_told_not_to_run(windlass: Command, db: Database, login: str) -> None:
    db.execute("create role migrator login noinherit in role windlass_owner", role="superuser")
    try:
        answer = windlass.here("doctor", "--json", "--database-url", db.server.url(login, db.name)).ok()
    finally:
        db.execute("drop role migrator", role="superuser")
    assert finding(answer, "role")["level"] == "warn"
    assert "owner of the schema: fit for migrating, not for running" in finding(answer, "role")["sentence"]
    assert finding(answer, "schema")["level"] == "ok"


@pytest.mark.direct(reason="gives an option at the start, which the pooler refuses")
def test_a_login_whose_arrays_have_no_nulls(windlass: Command, db: Database) -> None:
    url = db.url() + "&options=-carray_nulls%3Doff"
    answer = windlass.here("doctor", "--json", "--database-url", url)
    assert "array_nulls is off" in finding(answer, "server")["sentence"]
    assert answer.code == 1


@pytest.mark.outer_versions
def test_a_member_that_has_none_of_its_groups_rights(windlass: Command, db: Database) -> None:
    """As is, from PostgreSQL 16 on, whoever created the groups."""
    db.execute("create role maker login noinherit in role windlass_worker", role="superuser")
    try:
        answer = windlass.here("doctor", "--json", "--database-url", db.server.url("maker", db.name))
    finally:
        db.execute("drop role maker", role="superuser")
    assert finding(answer, "role")["details"]["groups"] == []
    assert (finding(answer, "schema")["level"], finding(answer, "role")["level"]) == ("fail", "fail")


def test_a_role_that_may_not_try_everything_is_told_so(windlass: Command, db: Database) -> None:
    answer = windlass.here("doctor", "--json", "--database-url", db.url("producer")).ok()
    assert finding(answer, "isolation")["level"] == "warn"
    assert finding(answer, "tables")["level"] == "warn"


def test_row_security_that_was_switched_off_is_caught_in_the_act(windlass: Command, db: Database) -> None:
    for table in ("job", "lane"):
        db.execute(f"alter table windlass_data.{table} no force row level security", role="owner")
    answer = windlass.here("doctor", "--json")
    assert answer.code == 1
    isolation = finding(answer, "isolation")
    assert isolation["level"] == "fail"
    assert "no tenant set" in isolation["details"]["leaks"]
    assert finding(answer, "row security")["details"]["tables"] == ["job", "lane"]


def test_a_view_that_shows_nothing_proves_nothing(windlass: Command, db: Database) -> None:
    db.execute("alter view windlass.jobs rename to seen", role="owner")
    db.execute("create view windlass.jobs as select * from windlass.seen where false", role="owner")
    db.execute("grant select on windlass.jobs to windlass_reader", role="owner")
    answer = windlass.here("doctor", "--json")
    assert answer.code == 1
    assert "proves nothing" in finding(answer, "isolation")["sentence"]


def test_who_holds_an_old_snapshot(windlass: Command, db: Database, clock: Clock) -> None:
    holder = db.connect("app", autocommit=False)
    holder.execute("set application_name = 'forgetful'")
    holder.commit()
    holder.execute("set transaction isolation level repeatable read")
    holder.execute("select 1 from windlass.jobs limit 1")
    assert finding(windlass.here("doctor", "--json"), "oldest transaction")["level"] == "ok"

    clock.advance(timedelta(minutes=10))
    late = finding(windlass.here("doctor", "--json"), "oldest transaction")
    assert late["level"] == "warn"
    pid = holder.info.backend_pid
    assert f"Process {pid} (forgetful, windlass_app, idle in transaction)" in late["sentence"]
    [(began,)] = holder.execute("select now()").fetchall()
    assert f"since {stamp(began)} (10m" in late["sentence"]
    assert "its last query began 10m" in late["sentence"]
    assert late["details"]["holder"] == "session"
    query_start, since = (datetime.fromisoformat(late["details"][name]) for name in ("query_start", "since"))
    assert query_start > since == began
    assert late["details"]["xmin_age"] >= 0
    assert f"pg_terminate_backend({holder.info.backend_pid})" in late["advice"]
    clock.advance(timedelta(hours=2))
    assert finding(windlass.here("doctor", "--json"), "oldest transaction")["level"] == "fail"


def test_who_keeps_many_dead_rows_however_young(
    windlass: Command, db: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.cli.doctor.standing.MANY_DEAD_ROWS", 200)
    keep_statistics_still(db)
    holder = db.connect("app", autocommit=False)
    holder.execute("set application_name = 'nightly report'")
    holder.commit()
    holder.execute("set transaction isolation level repeatable read")
    holder.execute("select 1 from windlass.jobs limit 1")
    clock.advance(timedelta(seconds=10))
    worker = db.connect("app")
    worker.execute(
        "select count(*) from windlass.enqueue_jobs(windlass.tenant_id('default'), "
        "(select jsonb_agg(jsonb_build_object('kind', 'greet')) from generate_series(1, 300)))"
    )
    worker.execute("select count(*) from windlass.claim_jobs(%s, array['default'], null, 300)", [NODE])
    worker.execute("select pg_stat_force_next_flush()")
    answer = windlass.here("doctor", "--json").ok()
    assert finding(answer, "oldest transaction")["level"] == "ok", "it is young"
    found = finding(answer, "dead rows")
    assert found["level"] == "warn"
    pid = holder.info.backend_pid
    [(began,)] = holder.execute("select now()").fetchall()
    assert " dead rows lie in windlass_data.ready." in found["sentence"]
    assert f"Process {pid} (nightly report, windlass_app, idle in transaction)" in found["sentence"]
    assert f"holds a snapshot since {stamp(began)} (10" in found["sentence"]
    assert f"pg_terminate_backend({pid})" in found["advice"]
    assert found["details"]["ready"] >= 300
    assert found["details"]["holder"]["pid"] == pid

    holder.rollback()
    found = finding(windlass.here("doctor", "--json").ok(), "dead rows")
    assert found["level"] == "warn"
    assert "utovacuum is off or too slow here." in found["advice"]
    assert "sessions of other roles cannot be seen" in found["advice"], "those of this test"
    assert "nobody is seen who keeps them" in found["sentence"]


def test_a_prepared_transaction_that_nobody_ended(tmp_path: Path) -> None:
    settings = {"max_prepared_transactions": "2"}
    with EmbeddedServer.start(ephemeral=True, in_memory=True, settings=settings) as server:
        migrate(server.url("windlass_owner"))
        windlass = Command(tmp_path, server.url())
        with psycopg.connect(server.url("windlass_owner"), autocommit=True) as owner:
            owner.execute("begin")
            owner.execute("create table public.left_behind (n int)")
            owner.execute("prepare transaction 'it''s mine'")
            clock = Clock(server.url("windlass_owner"))
            clock.advance(timedelta(minutes=10))
            found = finding(windlass.here("doctor", "--json").ok(), "oldest transaction")
            assert found["level"] == "warn"
            assert "The prepared transaction it's mine of windlass_owner" in found["sentence"]
            assert "rollback prepared 'it''s mine'" in found["advice"]
            owner.execute("rollback prepared 'it''s mine'")
        assert finding(windlass.here("doctor", "--json").ok(), "oldest transaction")["level"] == "ok"


@pytest.mark.parametrize(
    ("holder", "named", "advice"),
    [
        ("replication slot", "The replication slot spare (inactive)", "pg_drop_replication_slot('spare')"),
        ("standby", "The standby spare, served by process 7,", "hot_standby_feedback = off"),
    ],
)
def test_standbys_hold_snapshots_too(holder: str, named: str, advice: str) -> None:
    held = {"holder": holder, "pid": 7, "usename": None, "application_name": "spare", "state": "inactive"}
    health: dict[str, Any] = {
        "now": "2030-01-31T09:00:00Z",
        "snapshots": [{**held, "since": None, "query_start": None, "xmin_age": 2_000_000}],
        "hidden_sessions": 0,
        "rls_forced": True,
    }
    _, found = itertools.islice(check_standing(health), 2)
    assert (found.check, found.level) == ("oldest transaction", "warn")
    assert f"{named} holds a snapshot, 2,000,000 transactions old" in found.sentence
    assert advice in str(found.advice)


def test_jobs_that_no_node_takes(windlass: Command, db: Database) -> None:
    heartbeat = "select windlass.heartbeat_node(%s, 'mill', p_queues => %s, p_kinds => %s)"
    for _ in range(3):
        windlass.here("enqueue", "greet", "--queue", "mail").ok()
    windlass.here("enqueue", "other", "--queue", "mail").ok()
    found = finding(windlass.here("doctor", "--json").ok(), "kinds")
    assert found["level"] == "warn"
    assert found["sentence"] == (
        "No active node knows the kind 'greet', and 3 jobs wait in the queue 'mail'. So it is with 1 more."
    )
    assert "windlass worker MODULE:APP --queues mail" in found["advice"]
    assert [row["kind"] for row in found["details"]["unserved"]] == ["greet", "other"]

    db.fetch(heartbeat, NODE, ["default"], ["greet", "other"])
    found = finding(windlass.here("doctor", "--json").ok(), "kinds")
    assert "nodes that know the kind 'greet' take nothing from the queue 'mail'" in found["sentence"]
    db.fetch(heartbeat, NODE, ["default", "mail"], ["greet", "other"])
    found = finding(windlass.here("doctor", "--json").ok(), "kinds")
    assert (found["level"], found["sentence"][:23]) == ("ok", "Active nodes take every")


def test_without_an_active_node_nothing_is_said_of_any(windlass: Command, db: Database) -> None:
    db.fetch("select windlass.stop_node(%s)", NODE)
    answer = windlass.here("doctor", "--json").ok()
    assert finding(answer, "nodes")["level"] == "warn"
    found = finding(answer, "kinds")
    assert (found["level"], found["sentence"]) == ("ok", "No job waits for a worker.")


def test_two_nodes_of_one_name(windlass: Command, db: Database) -> None:
    second = NODE[:-1] + "b"
    db.fetch("select windlass.heartbeat_node(%s, 'mill', p_host => 'river', p_pid => 7)", second)
    found = finding(windlass.here("doctor", "--json").ok(), "nodes")
    assert found["level"] == "warn"
    assert "2 active nodes are called mill" in found["sentence"]
    assert "river:7" in found["sentence"]
    db.fetch("select windlass.heartbeat_node(%s, 'wheel')", second)
    assert finding(windlass.here("doctor", "--json").ok(), "nodes")["level"] == "ok"


def test_expired_leases_missing_days_and_silent_nodes(windlass: Command, db: Database, clock: Clock) -> None:
    windlass.here("enqueue", "greet").ok()
    db.fetch("select job_id from windlass.claim_jobs(%s, array['default'], null, 1)", NODE)
    clock.advance(timedelta(days=5))
    answer = windlass.here("doctor").ok()
    warned = {line.split()[1] for line in answer.out.splitlines() if line.startswith("warn")}
    assert {"leases", "partitions", "nodes"} <= warned
    assert "1 lease has expired and was not recovered yet." in answer.out


def test_a_schema_that_is_not_there(empty_db: Database, tmp_path: Path) -> None:
    answer = Command(tmp_path, empty_db.url("owner")).here("doctor", "--json")
    assert answer.code == 1
    assert finding(answer, "schema")["level"] == "fail"
    assert "windlass migrate" in finding(answer, "schema")["advice"]
    assert finding(answer, "listener")["level"] == "ok"


def test_a_database_that_is_not_there(tmp_path: Path) -> None:
    answer = Command(tmp_path, "postgresql://ann:secret@127.0.0.1:1/shop").here("doctor", "--json")
    assert answer.code == 1
    assert [found["check"] for found in answer.json["findings"]] == ["connection"]
    assert "secret" not in answer.out + answer.err


@pytest.mark.direct(reason="about what is said where there is no pooler")
def test_the_pooler_setting_and_the_way_to_listen(
    windlass: Command, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    windlass.environment["WINDLASS_POOLER"] = "transaction"
    answer = windlass.here("doctor", "--json").ok()
    assert finding(answer, "pooler")["level"] == "warn"
    assert "WINDLASS_LISTEN_URL" in finding(answer, "listener")["advice"]

    windlass.environment["WINDLASS_LISTEN_URL"] = db.url().replace(db.name, "windlass")
    monkeypatch.setattr("windlass.cli.doctor.probes.LISTEN_SECONDS", 0.2)  # nothing will come
    elsewhere = finding(windlass.here("doctor", "--json"), "listener")
    assert elsewhere["level"] == "fail"


@pytest.mark.direct(reason="brings a pooler of its own")
@pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")
def test_a_pooler_that_nobody_told_of(
    windlass: Command, db: Database, pooled_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    windlass.environment["WINDLASS_DATABASE_URL"] = pooled_url
    with monkeypatch.context() as impatient:
        impatient.setattr("windlass.cli.doctor.probes.LISTEN_SECONDS", 0.2)
        untold = windlass.here("doctor", "--json")
    assert untold.code == 1
    assert finding(untold, "pooler")["level"] == "fail"
    assert "WINDLASS_POOLER=transaction" in finding(untold, "pooler")["advice"]

    windlass.environment["WINDLASS_POOLER"] = "transaction"
    windlass.environment["WINDLASS_LISTEN_URL"] = db.url()
    told = windlass.here("doctor", "--json").ok()
    assert {found["check"]: found["level"] for found in told.json["findings"]}["pooler"] == "ok"
    assert finding(told, "listener")["level"] == "ok"
    assert finding(told, "isolation")["level"] == "ok"


def test_a_login_bound_to_a_tenant_is_no_leak(windlass: Command, db: Database) -> None:
    db.fetch("select windlass.bind_role('test_operator', windlass.create_tenant('acme', null))")
    answer = windlass.here("doctor", "--json", "--database-url", db.url("operator")).ok()
    assert finding(answer, "isolation")["level"] == "ok"


def test_what_mends_a_schema_depends_on_what_is_wrong_with_it(windlass: Command, db: Database) -> None:
    unknown = "insert into windlass_data.schema_version (name, sha256) values ('9999_later', %s)"
    db.execute(unknown, "0" * 64, role="superuser")
    newer = finding(windlass.here("doctor", "--json"), "schema")
    assert "upgrade windlass" in newer["sentence"]
    assert newer["advice"] is None
    db.execute("delete from windlass_data.schema_version where name > '9'", role="superuser")
    changed = "update windlass_data.schema_version set sha256 = %s where name = 'code'"
    db.execute(changed, "0" * 64, role="superuser")
    assert "as the owner" in finding(windlass.here("doctor", "--json"), "schema")["advice"]
