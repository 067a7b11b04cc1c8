"""`windlass costs` and the costs in `windlass jobs show`, and the client behind them."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.integration.command import Command
from tests.support import Database
from windlass import InvalidInput, Windlass
from windlass.cluster import Bookkeeper
from windlass.db.link import AsyncLink
from windlass.settings import Settings


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    return Command(tmp_path, db.url())


def spend(db: Database, tenant: UUID, kind: str, *cents: int, **outcome: int) -> UUID:
    """A job that cost so much, and perhaps more with its outcome."""
    job_id: UUID = db.fetch_value("select job_id from windlass.enqueue_job(%s, %s)", tenant, kind)
    (held,) = db.fetch(
        "select * from windlass.claim_jobs(%s, array['default'], array[%s], 1, 30)", uuid4(), kind
    )
    said = [held.token] * len(cents), [job_id] * len(cents), list(cents), ["stamps"] * len(cents)
    db.execute("select windlass.record_costs(%s, %s, %s::bigint[], %s)", *said)
    if outcome:
        more = outcome["with_outcome"]
        db.execute("select windlass.finish_job(%s, %s, null, %s)", held.token, job_id, more)
    return job_id


@pytest.fixture
def spent(db: Database, windlass: Command) -> Iterator[UUID]:
    """Two tenants' costs on two days; a job with costs of both ways."""
    windlass.here("tenants", "create", "acme").ok()
    ours = db.fetch_value("select windlass.tenant_id('default')")
    theirs = db.fetch_value("select windlass.tenant_id('acme')")
    db.clock.freeze(datetime(2030, 1, 1, 12, tzinfo=UTC))
    spend(db, ours, "report", 1000, 234)
    spend(db, theirs, "report", 7)
    db.clock.freeze(datetime(2030, 1, 2, 12, tzinfo=UTC))
    yield spend(db, ours, "mail", 3, with_outcome=5)
    db.clock.reset()


@pytest.mark.usefixtures("spent")
def test_a_table_with_a_total(windlass: Command) -> None:
    assert windlass.here("costs").ok().out == (
        "KIND    ENTRIES  CENTS\n"
        "report        2  1,234\n"
        "mail          2      8\n"
        "\n"
        "total  1,242 cents in 4 entries\n"
    )
    assert windlass.here("costs", "--by", "kind,day", "--since", "2030-01-02").ok().out == (
        "DAY         KIND  ENTRIES  CENTS\n2030-01-02  mail        2      8\n\ntotal  8 cents in 2 entries\n"
    )
    everybody = windlass.here("costs", "--all-tenants", "--limit", "1").ok()
    assert everybody.out.endswith("\ntotal  1,249 cents in 5 entries\n")
    assert "default  report" in everybody.out
    assert "more lines than these 1" in everybody.err
    assert windlass.here("costs", "--tenant", "acme", "--by", "day").ok().out.count("2030") == 1
    nothing = windlass.here("costs", "--until", "30d", "--kind", "mail").ok()
    assert (nothing.out, nothing.err) == ("", "no costs\n")


@pytest.mark.usefixtures("spent")
def test_the_same_for_a_program(windlass: Command) -> None:
    found = windlass.here("costs", "--since", "1d", "--by", "tenant", "--json").ok().json
    assert found.keys() == {"items", "cents", "entries", "more"}
    (item,) = found["items"]
    assert item.pop("tenant_id") == "00000000-0000-7000-8000-000000000001"
    assert [item.pop(name) for name in ("queue", "kind", "day")] == [None] * 3
    assert item == {"tenant": "default", "cents": 1242, "entries": 4}
    assert (found["cents"], found["entries"], found["more"]) == (1242, 4, False)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--by", "state"], 2),
        (["--since", "yesterday"], 2),
        (["--since", "2030-02-31"], 2),
        (["--tenant", "acme", "--all-tenants"], 2),
        (["--since", "2030-01-02", "--until", "2030-01-01"], 6),
        (["--tenant", "nobody"], 3),
    ],
)
def test_what_makes_no_sense_is_said_so(windlass: Command, words: list[str], code: int) -> None:
    assert windlass.here("costs", *words).code == code


def test_a_job_is_shown_with_its_costs(windlass: Command, spent: UUID) -> None:
    shown = windlass.here("jobs", "show", spent).ok().out
    assert "8 cents" in shown
    lines = [line.split() for line in shown.splitlines()]
    assert ["2030-01-02T12:00:00.000Z", "1", "3", "stamps"] in lines
    assert ["2030-01-02T12:00:00.000Z", "1", "5", "reported", "with", "the", "outcome"] in lines
    document = windlass.here("jobs", "show", spent, "--json").ok().json
    assert [(entry["cents"], entry["what"]) for entry in document["costs"]] == [(3, "stamps"), (5, None)]
    assert [attempt["cost_cents"] for attempt in document["attempts"]] == [8]


async def test_the_client_says_the_same_on_both_faces_and_before_and_after_bookkeeping(
    db: Database, spent: UUID
) -> None:
    link = AsyncLink(db.url())
    bookkeeper = Bookkeeper(link, batch=2)
    async with Windlass(settings=Settings(database_url=db.url())) as app:
        before = await app.client.list_costs(by=["kind", "day"])
        assert [(cost.day, cost.kind, cost.cents) for cost in before] == [
            (date(2030, 1, 1), "report", 1234),
            (date(2030, 1, 2), "mail", 8),
        ]
        await bookkeeper.tick()
        assert bookkeeper.folded == 4
        assert await app.client.list_costs(by=["kind", "day"]) == before
        assert app.sync.list_costs(by=["kind", "day"]) == before
        assert app.sync.list_costs(by=[], all_tenants=True).cents == 1249
        assert [entry.cents for entry in await app.client.list_job_costs(spent)] == [3, 5]
        wrong: list[dict[str, Any]] = [
            {"since": "2030-01-01"},
            {"until": datetime(2030, 1, 1, tzinfo=UTC)},
            {"tenant": "acme", "all_tenants": True},
            {"by": "state"},
            {"limit": 0},
        ]
        for given in wrong:
            with pytest.raises(InvalidInput):
                await app.client.list_costs(**given)
    await link.close()
