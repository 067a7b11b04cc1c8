"""The harness notices: who breaks his word is found out by records that the product did not write."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from tests.chaos import evidence
from tests.chaos.checker import check
from tests.chaos.postgres import until
from tests.chaos.records import append, read
from tests.chaos.site import Site
from windlass import NewJob
from windlass.model import uuid7


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site"), workers=2, settings={"fsync": "off"}) as site:
        site.start_workers()
        yield site


def enqueue(site: Site, kind: str, key: str | None = None, **payload: object) -> str:
    job, tenant = uuid7(), site.tenants[0]
    told = {"job": job, "tenant": tenant, "kind": kind, "max_attempts": 5, "key": key}
    with site.recorder.call("enqueue", [told]):
        new = NewJob(kind=kind, payload=payload, id=job, concurrency_key=key)
        site.client.enqueue(new, tenant=tenant)
    return str(job)


def started(site: Site, job: str, version: int) -> bool:
    lines = read(site.directory / "ledger")
    return any((line["what"], line["job"], line["version"]) == ("start", job, version) for line in lines)


def broken(site: Site, job: str) -> dict[str, list[str]]:
    found = check(evidence.collect(site.primary, Path(site.directory)))
    return {rule: why for rule, sentences in found.items() if (why := [s for s in sentences if job in s])}


def settled(site: Site, job: str) -> bool:
    return site.client.get_job(UUID(job), tenant=site.tenants[0]).state.terminal


def test_an_honest_job(site: Site) -> None:
    job = enqueue(site, "nap", seconds=0)
    until(lambda: settled(site, job), "it ends")
    assert broken(site, job) == {}


def test_a_lease_that_is_taken_away_before_its_time(site: Site) -> None:
    job = enqueue(site, "nap_once", seconds=5)
    until(lambda: started(site, job, 1), "it runs")

    def taken_away() -> bool:  # over and over: its worker may renew it just before anybody looks
        site.primary.ask(
            "update windlass_data.lease set expires_at = '2000-01-01Z'"
            " where job_ids = array[%s::uuid] and versions = '{1}'",
            job,
        )
        return started(site, job, 2)

    until(taken_away, "it runs elsewhere")
    until(lambda: settled(site, job), "it ends")
    assert any("before its time" in why for why in broken(site, job)["unjustified duplicates"])


def test_a_job_that_vanishes(site: Site) -> None:
    job = enqueue(site, "nap", seconds=0)
    until(lambda: settled(site, job), "it ends")
    site.primary.ask("delete from windlass_data.job where id = %s", job)
    assert "lost" in broken(site, job)


def test_a_success_that_nobody_worked_for(site: Site) -> None:
    site.client.set_gate(kind="nap", tenant=site.tenants[0], reason="so that nobody runs it", actor="test")
    job = enqueue(site, "nap", seconds=0)
    site.primary.ask(
        "with gone as (delete from windlass_data.ready where job_id = %s returning *)"
        " insert into windlass_data.attempt (tenant_id, job_id, version, counted, node_id, token, started_at,"
        " finished_at, outcome, ends) select tenant_id, job_id, 1, 1, gen_random_uuid(), gen_random_uuid(),"
        " now(), now(), 'succeeded', 'succeeded' from gone",
        job,
    )
    site.client.clear_gate(kind="nap", tenant=site.tenants[0], actor="test")
    assert any("no handler ended it" in why for why in broken(site, job)["lost"])


def test_a_job_that_begins_before_its_turn(site: Site) -> None:
    first = enqueue(site, "nap", key="x", seconds=1)
    until(lambda: started(site, first, 1), "it runs")
    site.primary.ask("delete from windlass_data.key_line where job_id = %s", first)
    second = enqueue(site, "nap", key="x", seconds=0)
    until(lambda: settled(site, second) and settled(site, first), "both end")
    assert any("had its turn" in why for why in broken(site, second)["out of turn"])


def test_one_job_more_than_a_limit_allows(site: Site) -> None:
    append(site.directory / "limits", tenant=site.tenants[0], kind="errand", concurrency=1)
    one, other = (enqueue(site, "errand", seconds=0.5) for _ in range(2))
    until(lambda: settled(site, one) and settled(site, other), "both end")
    assert "over a limit" in {**broken(site, one), **broken(site, other)}


def test_a_cost_that_vanishes_and_one_that_counts_twice(site: Site) -> None:
    gone, twice = (enqueue(site, "purchase", entries=1) for _ in range(2))
    until(lambda: settled(site, gone) and settled(site, twice), "both end")
    assert "wrong costs" not in broken(site, gone) | broken(site, twice)
    site.primary.ask("delete from windlass_data.cost where job_id = %s", gone)
    site.primary.ask(
        "insert into windlass_data.cost select tenant_id, job_id, version, gen_random_uuid(), at, cents, what"
        " from windlass_data.cost where job_id = %s",
        twice,
    )
    assert any("not there" in why for why in broken(site, gone)["wrong costs"])
    assert any("written 2 times" in why for why in broken(site, twice)["wrong costs"])
