"""`windlass bench` on a real database: it measures, it balances, and it leaves nothing in line."""

from pathlib import Path

import pytest

from tests.integration.command import Command
from tests.support import Database
from windlass.cli.bench.jobs import QUEUE, TENANT, new_job
from windlass.client import SyncClient
from windlass.settings import Settings


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    return Command(tmp_path, db.url())


def test_it_measures_and_every_job_is_recorded_as_succeeded(windlass: Command, db: Database) -> None:
    found = windlass("bench", "--jobs", 200, "--paced", 10, "--yes", "--json").ok().json
    assert found["enqueued"] == found["succeeded"] == 200 + 10 + 5 + 10 + 5
    assert all(found[name]["value"] > 0 for name in ("W1", "W2", "W3"))
    assert found["W4"]["p99"] >= found["W4"]["p50"]
    with SyncClient(Settings(database_url=db.url())) as client:
        (queue,) = client.list_queues(tenant=TENANT)
        assert (queue.name, queue.ready, queue.scheduled, queue.running) == (QUEUE, 0, 0, 0)
        assert client.list_queues(tenant="default") == []
        assert [node for node in client.list_nodes() if node.active] == []


def test_what_an_earlier_run_left_is_canceled_first(windlass: Command, db: Database) -> None:
    with SyncClient(Settings(database_url=db.url())) as client:
        client.create_tenant(TENANT, "windlass bench")
        left = client.enqueue(new_job(1, "an-earlier-run"), tenant=TENANT)
        answer = windlass("bench", "--jobs", 100, "--paced", 10, "--yes").ok()
        assert client.get_job(left.id, tenant=TENANT).state == "canceled"
    assert [line.split()[0] for line in answer.out.splitlines()[:4]] == ["W1", "W2", "W3", "W4"]
    assert "all of them recorded as succeeded" in answer.out
    assert "starts a worker" in answer.err


def test_it_does_nothing_unasked(windlass: Command, db: Database) -> None:
    answer = windlass("bench", "--jobs", 100)
    assert answer.code == 2
    assert "--yes" in answer.err
    with SyncClient(Settings(database_url=db.url())) as client:
        assert [tenant.slug for tenant in client.list_tenants().items] == ["default"]
