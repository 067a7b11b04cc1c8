"""`windlass enqueue --app`: what the kind's handler declares holds, and the payload is checked."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.integration.command import Command
from tests.support import Database

APPLICATION = """
from datetime import date

from pydantic import BaseModel, ConfigDict, RootModel

from windlass import JobContext, Windlass

app = Windlass()


class Order(BaseModel):
    model_config = ConfigDict(strict=True)
    customer: str
    due: date
    count: int = 1


@app.job(queue="money", priority=7, retry="doubling_from_ten_seconds", max_attempts=2, timeout=30,
         concurrency_key="customer", concurrency_limit=3)
async def charge(ctx: JobContext, order: Order) -> None: ...


@app.job
def add(a: int, /, b: int = 1) -> int:
    return a + b


@app.job
def many(all: RootModel[list[int]]) -> None: ...


@app.cluster_job()
def reload(name: str) -> None: ...
"""

ORDER = '{"customer": "ann", "due": "2030-01-31"}'
DECLARED = {
    "queue": "money",
    "priority": 7,
    "max_attempts": 2,
    "timeout_ms": 30_000,
    "retry": {"base": 10.0, "factor": 2.0, "cap": None, "jitter": "none"},
    "concurrency_key": "ann",
    "concurrency_limit": 3,
}


@pytest.fixture
def windlass(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    (tmp_path / "till.py").write_text(APPLICATION)
    monkeypatch.syspath_prepend(tmp_path)
    return Command(tmp_path, db.url())


def enqueued(windlass: Command, db: Database, *words: object) -> Any:
    job_id = windlass("enqueue", *words, "--app", "till:app").ok().out.strip()
    return db.fetch_row("select * from windlass.get_job(windlass.tenant_id('default'), %s)", job_id)


def test_what_the_kind_declares_holds(windlass: Command, db: Database) -> None:
    job = enqueued(windlass, db, "charge", ORDER)
    assert {name: getattr(job, name) for name in DECLARED} == DECLARED
    assert job.payload == {"customer": "ann", "due": "2030-01-31", "count": 1}


def test_what_is_said_goes_before_it(windlass: Command, db: Database) -> None:
    said = ("--queue", "q", "--priority", 0, "--max-attempts", 9, "--timeout", "1m", "--retry", "default")
    job = enqueued(windlass, db, "charge", ORDER, *said, "--concurrency-key", "k", "--concurrency-limit", 1)
    assert [getattr(job, name) for name in DECLARED] == ["q", 0, 9, 60_000, None, "k", 1]
    assert enqueued(windlass, db, "charge", ORDER, "--retry", "default").max_attempts == 5


def test_payloads_as_the_function_would_have_them(windlass: Command, db: Database) -> None:
    assert enqueued(windlass, db, "add", '{"a": 1}').payload == {"a": 1}
    assert enqueued(windlass, db, "many", "[1, 2]").payload == [1, 2]


@pytest.mark.parametrize(
    ("kind", "payload", "app", "sentence"),
    [
        ("add", "[1]", "till:app", "the payload of 'add' is not valid"),
        ("add", '{"b": 2}', "till:app", "the payload of 'add' is not valid: a "),
        (
            "charge",
            '{"customer": "ann", "due": "soon"}',
            "till:app",
            "the payload of 'charge' is not valid: due ",
        ),
        ("ad", "{}", "till:app", "till:app has no handler of the kind 'ad': it has add, charge, many"),
        ("reload", "{}", "till:app", "'reload' is a kind of cluster job"),
        ("add", "{}", "till:shop", "the module till has no 'shop'; there is till:app"),
    ],
)
def test_what_does_not_fit_is_refused(
    windlass: Command, kind: str, payload: str, app: str, sentence: str
) -> None:
    answer = windlass("enqueue", kind, payload, "--app", app, "--json")
    refused = (3, "", "unknown_kind") if kind == "ad" else (6, "", "invalid_input")
    assert (answer.code, answer.out, answer.error["code"]) == refused
    assert sentence in answer.error["message"]
    assert windlass.here("jobs", "list", "--json").ok().json["items"] == []


def test_the_job_goes_where_the_programs_own_jobs_go(windlass: Command, tmp_path: Path) -> None:
    windlass("tenants", "create", "acme").ok()
    own = APPLICATION.replace("app = Windlass()", 'app = Windlass(tenant="acme")')
    (tmp_path / "own.py").write_text(own)
    windlass("enqueue", "add", '{"a": 1}', "--app", "own:app").ok()
    windlass("enqueue", "add", '{"a": 2}', "--app", "own:app", "--tenant", "default").ok()
    for tenant, number in (("acme", 1), ("default", 2)):
        (job,) = windlass.here("jobs", "list", "--tenant", tenant, "--json").ok().json["items"]
        shown = windlass.here("jobs", "show", job["id"], "--tenant", tenant, "--json").ok().json
        assert shown["job"]["payload"]["a"] == number


@pytest.mark.parametrize("payload", ["[1]", "7", '"text"'])
def test_without_it_a_payload_that_few_can_read_is_remarked_on(windlass: Command, payload: str) -> None:
    answer = windlass.here("enqueue", "add", payload).ok()
    assert re.fullmatch(r"[0-9a-f-]{36}\n", answer.out)
    assert answer.err.startswith("hint: the payload is no JSON object")
    assert windlass.here("enqueue", "add", payload, "--json").ok().err == ""
    assert windlass.here("enqueue", "add").ok().err == ""
