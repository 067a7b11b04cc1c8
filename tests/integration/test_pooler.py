"""The run with a pooler really has one: whatever gets its address shares two sessions, and knows it."""

from collections.abc import Iterator

import pytest

from tests.integration.crew import Crew, until
from tests.pooler import PROGRAM, LocalPooler, environment_for, pooled_defaults
from tests.support import Database
from windlass import NewJob, Windlass
from windlass.client import SyncClient
from windlass.settings import Settings

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")

SESSIONS = """
select count(*) filter (where application_name not like 'windlass listen%%') as working,
       count(*) filter (where application_name like 'windlass listen%%') as listening
from pg_stat_activity where datname = current_database() and usename = 'windlass_app'
"""


@pytest.fixture(params=[False, True], ids=["listens", "polls"])
def crew(db: Database, request: pytest.FixtureRequest) -> Iterator[Crew]:
    """Its workers get the address of a pooler."""
    before, pooler = db.server.pooler, LocalPooler(db.direct_url(), polls=request.param)
    db.server.pooler = pooler
    try:
        with pooled_defaults():
            yield Crew(db)
    finally:
        db.server.pooler = before
        pooler.stop()


async def test_all_but_the_listener_share_two_sessions(crew: Crew, request: pytest.FixtureRequest) -> None:
    async def nod() -> None: ...

    crew.knows(nod)
    async with Windlass(settings=Settings(database_url=crew.db.url())) as app, crew.worker(), crew.worker():
        await app.client.enqueue(NewJob(kind="nod", payload={}))
        crew.enqueue_many([{"kind": "nod", "payload": {}}] * 40)
        await until(lambda: crew.count("succeeded") == 41, "all ran")
        seen = crew.db.fetch_row(SESSIONS, role="superuser")
    assert 1 <= seen.working <= 2 + len(crew.db._open)
    assert seen.listening == (2 if "listens" in request.node.name else 0)


def test_clients_that_were_not_told_of_the_pooler_enqueue_all_the_same(db: Database) -> None:
    """What the first has prepared stays in a session that the second is given."""
    pooler = LocalPooler(db.direct_url(), polls=True)
    try:
        for number in range(2):
            with SyncClient(Settings(database_url=pooler.url(db.direct_url()))) as client:
                for each in range(6):  # often enough for the driver to prepare what it is asked
                    job = client.enqueue(NewJob(kind="nod", payload=[number, each]))
                    assert client.get_job(job.id).payload == [number, each]
    finally:
        pooler.stop()


def test_what_is_told_beside_the_address(crew: Crew, request: pytest.FixtureRequest) -> None:
    listens = crew.db.direct_url() if "listens" in request.node.name else None
    pooled, direct = (Settings(database_url=url) for url in (crew.db.url(), crew.db.direct_url()))
    assert (pooled.pooler, pooled.listen_url) == ("transaction", listens)
    assert (direct.pooler, direct.listen_url) == ("none", None)
    assert environment_for(crew.db.direct_url()) == {}
    told = environment_for(crew.db.url())
    assert told.pop("WINDLASS_POOLER") == "transaction"
    assert told == ({"WINDLASS_LISTEN_URL": listens} if listens else {})
