"""Jobs with large payloads are listed in pages of which each is bounded in bytes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import windlass.client.jobs as jobs_module
from tests.integration.command import Command
from tests.support import Database
from windlass import Windlass
from windlass.db import rpc_client
from windlass.settings import Settings

LARGE = "x" * 100_000


@pytest.fixture
def app(db: Database) -> Iterator[Windlass]:
    app = Windlass(settings=Settings(database_url=db.url()))
    yield app
    app.close_sync()


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Of each page that was read: how many jobs it was to hold, and the characters that came."""
    read: list[tuple[int, int]] = []
    list_jobs = rpc_client.list_jobs

    def watched(*arguments: Any, limit: int, **more: Any) -> Any:
        call = list_jobs(*arguments, limit=limit, **more)

        def note(rows: Any) -> Any:
            read.append((limit, sum(len(value) for row in rows for value in row if isinstance(value, str))))
            return call.read(rows)

        return type(call)(call.text, call.values, note)

    monkeypatch.setattr(rpc_client, "list_jobs", watched)
    return read


def test_pages_of_large_jobs_are_short(
    app: Windlass, pages: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 5 * len(LARGE)
    monkeypatch.setattr(jobs_module, "_PAGE_CHARACTERS", most)
    handles = app.sync.enqueue_many("large", [LARGE] * 40)
    assert [job.id for job in app.sync.iterate_jobs()] == [handle.id for handle in reversed(handles)]
    assert all(size < 1.1 * most for _, size in pages[1:])
    assert pages[0][0] <= 20
    assert len(pages) > 2


def test_pages_of_small_jobs_grow(app: Windlass, pages: list[tuple[int, int]]) -> None:
    app.sync.enqueue_many("small", range(1500))
    assert len(list(app.sync.iterate_jobs())) == 1500
    assert [limit for limit, _ in pages] == [20, 40, 80, 160, 320, 500, 500]


def test_jobs_can_be_listed_without_what_is_large(app: Windlass, pages: list[tuple[int, int]]) -> None:
    handle = app.sync.enqueue_job("large", LARGE, correlation_id="c")
    (job,) = app.sync.list_jobs(documents=False)
    assert (job.id, job.kind, job.correlation_id, job.payload) == (handle.id, "large", "c", None)
    assert pages[-1][1] < 1000
    (job,) = app.sync.iterate_jobs(documents=False)
    assert (job.id, job.payload) == (handle.id, None)
    (job,) = app.sync.list_jobs()
    assert job.payload == LARGE


def test_the_table_of_jobs_reads_no_payload(
    app: Windlass, db: Database, tmp_path: Path, pages: list[tuple[int, int]]
) -> None:
    app.sync.enqueue_job("large", LARGE)
    windlass = Command(tmp_path, db.url())
    for words in (["jobs", "list"], ["jobs", "list", "--all"]):
        assert "large" in windlass.here(*words).ok().out
        assert pages[-1][1] < 1000
    (job,) = windlass.here("jobs", "list", "--json").ok().json["items"]
    assert job["payload"] == LARGE
