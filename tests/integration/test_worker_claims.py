"""What a claim takes out of line it hands over, whatever commits while it is under way."""

import threading
from uuid import uuid4

import psycopg
import pytest

from tests.integration.crew import Crew, until
from tests.support import Database
from windlass.db.connect import connect_async
from windlass.db.database import run_async
from windlass.db.rpc import claim_jobs
from windlass.db.rpc_node import begin_jobs, undurable


@pytest.fixture
def crew(db: Database) -> Crew:
    return Crew(db)


async def test_a_job_committed_while_a_claim_is_under_way_is_returned_or_left_in_line(crew: Crew) -> None:
    holder, claimer = crew.db.connect("superuser", autocommit=False), crew.db.connect()
    pid = claimer.info.backend_pid
    claim = "select job_id from windlass.claim_jobs(%s, array['default'], null, 10)"
    crew.enqueue("early")
    claimer.execute(claim, [uuid4()])  # plans are made
    crew.enqueue("early")
    got = []
    # A lease is written in the middle of a claim: whoever locks them stops it there.
    holder.execute("lock table windlass_data.lease in access exclusive mode")
    thread = threading.Thread(target=lambda: got.extend(claimer.execute(claim, [uuid4()]).fetchall()))
    thread.start()
    try:
        await until(lambda: _waits(crew.db, pid), "the claim is stopped")
        late = crew.enqueue("early")
    finally:
        holder.rollback()
        thread.join()
    leased = crew.db.fetch("select unnest(job_ids) as id from windlass_data.lease", role="superuser")
    returned = {row.job_id for row in got}
    assert len(leased) == 1 + len(returned), "no job is leased to a node that was not told of it"
    assert crew.state(late) == ("running" if late in returned else "queued")


async def test_a_claim_may_go_without_waiting_for_the_disk(crew: Crew) -> None:
    """For its own transaction only: whoever has the session next must not notice."""
    call = undurable(claim_jobs(uuid4(), ["default"], None, 5, 30.0))
    job_id = crew.enqueue("any")
    crew.db.execute(f'alter database "{crew.db.name}" set synchronous_commit = on', role="superuser")
    connection = await connect_async(crew.db.url())
    async with connection:
        async with connection.transaction():
            assert [job.id for job in await run_async(connection, call)] == [job_id]
            assert await _shown(connection) == "off"
        assert await _shown(connection) == "on"


async def test_a_beginning_does_not_wait_for_the_disk_though_it_is_answered_with_nothing(crew: Crew) -> None:
    crew.enqueue("any", max_attempts=1)
    crew.db.execute(f'alter database "{crew.db.name}" set synchronous_commit = on', role="superuser")
    connection = await connect_async(crew.db.url())
    async with connection:
        (job,) = await run_async(connection, claim_jobs(uuid4(), ["default"], None, 5, 30.0))
        call = begin_jobs([job.token_bytes], [job.id_bytes], [False])
        async with connection.transaction():
            assert await run_async(connection, call) == set()
            assert await _shown(connection) == "off"
        assert await _shown(connection) == "on"
        lost = begin_jobs([uuid4().bytes], [job.id_bytes], [True])
        assert {job_id for _, job_id in await run_async(connection, lost)} == {job.id_bytes}


async def _shown(connection: psycopg.AsyncConnection) -> str:
    cursor = await connection.execute("show synchronous_commit")
    row = await cursor.fetchone()
    return str(row[0]) if row else ""


def _waits(db: Database, pid: int) -> bool:
    text = "select count(*) from pg_locks where pid = %s and not granted"
    return bool(db.fetch_value(text, pid, role="superuser"))
