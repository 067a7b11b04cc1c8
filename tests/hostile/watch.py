"""After hostile values: every row can still be read, by every face, and says what was stored."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.integration.command import Command
from tests.sql.whole import assert_whole
from tests.support import Database
from windlass.client import SyncClient


def read_everything(db: Database, client: SyncClient) -> dict[UUID, Any]:
    """Every job by every listing of the client; the tables are whole."""
    assert_whole(db)
    found = {}
    for place, job in enumerate(client.iterate_jobs()):
        found[job.id] = job
        if place % 5:
            continue  # one in five is also asked for by itself
        again = client.get_job(job.id)
        assert again == replace(job, read_at=again.read_at)
        client.list_attempts(job.id)
        client.list_history(job.id)
    client.list_events()
    client.list_gates()
    return found


def read_by_command(db: Database, directory: Path) -> dict[UUID, Any]:
    """Every job as `jobs list --json` prints it, in JSON that any reader takes; other listings work too."""
    command = Command(directory, db.url())

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is no JSON")

    printed = command.here("jobs", "list", "--json", "--all").ok().out
    jobs = [json.loads(line, parse_constant=refuse) for line in printed.splitlines()]
    command.here("jobs", "list").ok()
    for job in jobs[:5]:
        json.loads(command.here("jobs", "show", job["id"], "--json").ok().out, parse_constant=refuse)
        command.here("jobs", "show", job["id"]).ok()
    return {UUID(job["id"]): job for job in jobs}
