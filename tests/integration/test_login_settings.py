"""Settings of a login (alter role … set) are honoured or do no harm; the doctor names the few that do."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.integration.command import Answer, Command
from tests.integration.crew import Crew, until
from tests.support import Database
from windlass import Forbidden, Unavailable, Windlass
from windlass.client import SyncClient
from windlass.db.call import Call
from windlass.db.database import AsyncDatabase, SyncDatabase
from windlass.db.link import AsyncLink
from windlass.db.rpc_node import prune_jobs
from windlass.settings import Settings

pytestmark = pytest.mark.direct(reason="the pooler keeps sessions that were opened with other settings")

LOGIN = "windlass_app"
Set = Callable[[str, str], None]

HARMLESS = {
    "application_name": ["mine"],
    "backslash_quote": ["off"],
    "bytea_output": ["escape"],
    "check_function_bodies": ["off"],
    "client_encoding": ["LATIN1"],
    "client_min_messages": ["error"],
    "datestyle": ["German", "SQL, DMY", "Postgres, MDY"],
    "default_transaction_deferrable": ["on"],
    "default_transaction_isolation": ["repeatable read", "serializable"],
    "enable_indexscan": ["off"],
    "enable_nestloop": ["off"],
    "enable_partition_pruning": ["off"],
    "extra_float_digits": ["-15"],
    "idle_in_transaction_session_timeout": ["10s"],
    "intervalstyle": ["sql_standard"],
    "join_collapse_limit": ["1"],
    "lock_timeout": ["10s"],
    "plan_cache_mode": ["force_generic_plan"],
    "quote_all_identifiers": ["on"],
    "search_path": ["nowhere"],
    "standard_conforming_strings": ["off"],
    "statement_timeout": ["30s"],
    "synchronous_commit": ["off"],
    "timezone": ["Asia/Kolkata"],
    "transform_null_equals": ["on"],
    "work_mem": ["64kB"],
}


async def add(a: int) -> int:
    return a + 1


@pytest.fixture
def set_for_login(db: Database) -> Iterator[Set]:
    place = sql.SQL("alter role {} in database {} ").format(sql.Identifier(LOGIN), sql.Identifier(db.name))
    admin = db.connect("superuser")

    def set_(name: str, value: str) -> None:
        said = sql.SQL(", ").join(sql.Literal(one) for one in value.split(", "))
        admin.execute(place + sql.SQL("set {} = ").format(sql.Identifier(name)) + said)

    yield set_
    admin.execute(place + sql.SQL("reset all"))


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    return Command(tmp_path, db.url())


def findings(answer: Answer) -> dict[str, Any]:
    return {found["check"]: found for found in answer.json["findings"]}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in HARMLESS.items() for value in values]
)
async def test_a_setting_that_does_no_harm(
    db: Database, windlass: Command, set_for_login: Set, name: str, value: str
) -> None:
    set_for_login(name, value)
    app = Windlass(settings=Settings(database_url=db.url()))
    adding = app.job(add)
    with psycopg.connect(db.url()) as mine:
        assert adding.options(connection=mine, delay=60).enqueue_sync(1).created
    async with await psycopg.AsyncConnection.connect(db.url()) as mine_too:
        assert (await adding.options(connection=mine_too, delay=60).enqueue(1)).created
    job = adding.enqueue_sync(1)
    crew = Crew(db)
    crew.knows(add)
    async with crew.worker():
        await until(lambda: job.get().state.value == "succeeded", "it has run")
    assert len(app.sync.list_jobs()) == 3
    app.close_sync()
    found = windlass.here("doctor", "--json").ok()
    assert {one["check"] for one in found.json["findings"] if one["level"] != "ok"} <= {"nodes", "kinds"}, (
        "no node is left"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("array_nulls", "off"), ("row_security", "off"), ("restrict_nonsystem_relation_kind", "view")],
)
def test_the_doctor_names_a_setting_that_does_harm(
    db: Database, windlass: Command, set_for_login: Set, name: str, value: str
) -> None:
    known = "select count(*) from pg_settings where name = %s"
    if not db.fetch_value(known, name, role="superuser"):
        pytest.skip(f"this server has no {name}")
    set_for_login(name, value)
    answer = windlass.here("doctor", "--json")
    assert answer.code == 1
    server = findings(answer)["server"]
    assert (server["level"], server["advice"].split(";")[0]) == ("fail", f"alter role {LOGIN} reset {name}")
    assert f"The setting {name} is {value}" in server["sentence"]
    assert "NO FORCE" not in answer.out


LEVEL = "select current_setting('transaction_isolation')"


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
async def test_sessions_of_ours_work_in_read_committed(
    db: Database, windlass: Command, set_for_login: Set, level: str
) -> None:
    set_for_login("default_transaction_isolation", level)
    with psycopg.connect(db.url()) as mine:
        assert mine.execute(LEVEL).fetchone() == (level,), "of callers' own connections nothing is changed"
    read: Call[str] = Call(LEVEL, (), lambda rows: rows[0][0])
    link = AsyncLink(db.url())
    assert await link.run(read) == "read committed"
    await link.run(prune_jobs({"succeeded": 7.0}))
    await link.close()
    async with AsyncDatabase(db.url()) as pool:
        assert await pool.run(read) == "read committed"
    with SyncDatabase(db.url()) as blocking:
        assert blocking.run(read) == "read committed"


def test_the_doctor_names_an_isolation_that_cannot_be_set(
    db: Database, windlass: Command, set_for_login: Set
) -> None:
    set_for_login("default_transaction_isolation", "serializable")
    windlass.environment["WINDLASS_POOLER"] = "transaction"
    answer = windlass.here("doctor", "--json")
    server = findings(answer)["server"]
    assert (answer.code, server["level"]) == (1, "fail")
    assert "default_transaction_isolation is serializable for this login" in server["sentence"]
    assert server["advice"].startswith(f"alter role {LOGIN} reset default_transaction_isolation;")


def test_what_row_security_off_keeps_from_being_tried_is_a_fault(
    db: Database, windlass: Command, set_for_login: Set
) -> None:
    set_for_login("row_security", "off")
    assert findings(windlass.here("doctor", "--json"))["isolation"]["level"] == "fail"
    with SyncClient(Settings(database_url=db.url())) as client, pytest.raises(Forbidden) as refused:
        client.enqueue_job("add")
    assert refused.value.details["hint"] == "alter role … reset row_security;"


def test_a_login_whose_transactions_are_read_only(
    db: Database, windlass: Command, set_for_login: Set
) -> None:
    set_for_login("default_transaction_read_only", "on")
    with pytest.raises(Unavailable) as refused:
        SyncClient(Settings(database_url=db.url()), patience=0).enqueue_job("add")
    answer = windlass.here("doctor", "--json")
    for told in (refused.value.details["hint"], findings(answer)["connection"]["advice"]):
        assert "standby" in told
        assert "reset default_transaction_read_only" in told
    anyhow = windlass.here("doctor", "--json", "--database-url", db.url() + "&target_session_attrs=any")
    assert (answer.code, anyhow.code) == (1, 1)
    assert "default_transaction_read_only is on" in findings(anyhow)["server"]["sentence"]
