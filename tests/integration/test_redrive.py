"""Redrives as jobs, through the application, real workers and the command."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from tests.integration.command import APPLICATION, Command, eventually
from tests.integration.crew import TENANT
from tests.sql.redrives import kill_many
from tests.sql.steps import Session
from tests.sql.whole import assert_whole
from tests.support import Database
from windlass import InvalidInput, NotFound, Windlass
from windlass.db.rpc_redrive import RedriveTurn
from windlass.model import ClaimedJob, Snooze
from windlass.model.redrive import NewRedrive, Redrive
from windlass.telemetry import running_job
from windlass.worker import redrive as redrive_module
from windlass.worker.registry import JobDefinition, Registry


class Letter(BaseModel):
    to: str
    grams: int = 20


def make_app(db: Database) -> Windlass:
    app = Windlass(db.url(), actor="ada")

    @app.job(kind="mail", queue="elsewhere")
    async def mail(letter: Letter) -> None: ...

    return app


async def over(app: Windlass, redrive_id: UUID) -> Redrive:
    async with asyncio.timeout(30):
        while not (found := await app.client.get_redrive(redrive_id)).over:
            await asyncio.sleep(0.02)
    return found


def redriven(db: Database) -> list[UUID]:
    text = "select job_id from windlass_data.event where action = 'job.redrive' order by job_id"
    return [row.job_id for row in db.fetch(text, role="superuser")]


def test_the_size_of_a_patched_payload_is_that_of_its_json() -> None:
    """Not of the database's text, which has a space behind every comma."""
    registry = Registry()

    def count(numbers: list[int]) -> None: ...

    registry.add(JobDefinition.from_function(count))
    text = json.dumps({"numbers": [1] * 500_000})
    assert len(text) > 1024 * 1024
    assert redrive_module.payload_fault(registry, "count", text) is None
    longer = json.dumps({"numbers": [1] * 600_000})
    assert "more than 1048576 bytes" in str(redrive_module.payload_fault(registry, "count", longer))


async def test_a_worker_revives_what_fits_and_leaves_the_rest_dead(db: Database) -> None:
    jobs = Session(db.connection())
    good = kill_many(jobs, 2, payload={"to": "ann", "grams": "20 g"})
    bad = kill_many(jobs, 1, payload={"grams": 5})
    async with make_app(db) as app, app.worker(queues=["default"]):
        redrive_id = await app.redrive(kinds="mail", patch={"grams": 21}, reason="grams are numbers now")
        found = await over(app, redrive_id)
        assert (found.state, found.redriven, found.refused, found.expected) == ("done", 2, 1, 3)
        assert found.refusals[0]["job_id"] == str(bad[0])
        assert "to is missing" in found.refusals[0]["why"]
        handle = await app.client.handle(redrive_id)
        assert await handle.wait(timeout=30) == {
            "outcome": "done",
            "stop_reason": None,
            "matched": 3,
            "redriven": 2,
            "refused": 1,
            "passed": 0,
            "ended": 0,
            "died": 0,
        }
    assert redriven(db) == good
    assert [jobs.get(job).payload for job in (*good, *bad)] == [{"to": "ann", "grams": 21}] * 2 + [
        {"grams": 5}
    ]
    assert_whole(db)


async def test_a_patched_job_stands_in_the_line_of_its_new_key(db: Database) -> None:
    jobs = Session(db.connection())
    made = [{"kind": "bill", "payload": {"to": "ann"}, "concurrency_key": "ann", "max_attempts": 1}] * 2
    moved = [row.job_id for row in jobs.enqueue_many(made)]
    for _ in moved:
        jobs.fail(jobs.claim_one(kinds=["bill"]))
    at_bob = jobs.enqueue("bill", {"to": "bob"}, concurrency_key="bob")
    at_ann = jobs.enqueue("bill", {"to": "ann"}, concurrency_key="ann")
    async with Windlass(db.url()) as app:

        @app.job(kind="bill", queue="elsewhere", concurrency_key=lambda to: to.lower())
        async def bill(to: str) -> None: ...

        async with app.worker(queues=["windlass.system"]):
            found = await over(app, await app.redrive(kinds="bill", patch={"to": "BOB"}))
            assert (found.redriven, found.refused) == (2, 0)
    assert {row.job_id for row in jobs.claim(10, kinds=["bill"])} == {at_bob, at_ann}
    assert [jobs.get(job).concurrency_key for job in moved] == ["bob", "bob"]
    assert_whole(db)


async def test_a_patch_that_breaks_every_payload_starts_nothing(db: Database) -> None:
    kill_many(Session(db.connection()), 2, payload={"to": "ann"})
    async with make_app(db) as app:
        with pytest.raises(InvalidInput, match=r"no payload fits: of job .*grams must be a whole number"):
            await app.redrive(kinds="mail", patch={"grams": "heavy"})
        with pytest.raises(InvalidInput, match="grams"):
            app.redrive_sync(kinds="mail", patch={"grams": "heavy"})
        assert (await app.client.list_redrives()).items == ()
        with pytest.raises(NotFound):
            await app.redrive(everything=True, tenant="nobody")


async def test_a_worker_that_does_not_know_the_kind_hands_over(db: Database) -> None:
    kill_many(Session(db.connection()), 2, payload={"to": "ann"})
    async with make_app(db) as app, Windlass(db.url()) as stranger:
        redrive_id = await app.redrive(kinds="mail", patch={"grams": 1})
        async with stranger.worker(node_name="stranger"):
            async with asyncio.timeout(30):
                while not (attempts := await app.client.list_attempts(redrive_id)) or attempts[0].running:
                    await asyncio.sleep(0.02)
        assert {str(attempt.outcome) for attempt in attempts if not attempt.running} <= {
            "snoozed",
            "released",
        }
        assert redriven(db) == []
        async with app.worker():
            assert (await over(app, redrive_id)).redriven == 2


@pytest.mark.parametrize(("attempts", "pause"), [(1, 0.25), (4, 1.0), (500, 5.0)])
async def test_a_redrive_that_was_handed_over_comes_back_soon(
    attempts: int, pause: float, caplog: pytest.LogCaptureFixture
) -> None:
    class Slices:
        async def run(self, call: Any) -> Any:
            nobody = UUID(int=0)
            return RedriveTurn(None, {}, "mail", 0.0, nobody, nobody, [nobody], ["{}"])

    job = ClaimedJob(
        UUID(int=1),
        UUID(int=2),
        "q",
        "windlass.redrive",
        0,
        {},
        UUID(int=3),
        attempts,
        0,
        5,
        0,
        None,
        None,
        0,
        None,
    )
    handler = redrive_module.redrive_definition(Slices(), Registry()).handler
    with caplog.at_level("INFO"), running_job("mill", job):
        assert await handler() == Snooze(pause)
    assert "does not know the kind mail" in caplog.text


async def test_a_throttled_redrive_gives_its_slot_back(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrive_module, "TURN_SECONDS", 0.2)
    kill_many(Session(db.connection()), 3)
    async with make_app(db) as app, app.worker(concurrency=1) as worker:
        redrive_id = await app.redrive(everything=True, throttle=3.0, stop_rate=0.9)
        found = await over(app, redrive_id)
        assert (found.state, found.redriven) == ("done", 3)
        await worker.idle()
        outcomes = [str(attempt.outcome) for attempt in await app.client.list_attempts(redrive_id)]
    assert outcomes[-1] == "succeeded"
    assert set(outcomes[:-1]) == {"snoozed"}


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"everything": True, "kinds": "mail"},
        {"kinds": []},
        {"kinds": "no good"},
        {"jobs": ["17"]},
        {"error_like": "x" * 201},
        {"error_like": "\\"},
        {"error_like": "\x00"},
        {"kinds": "mail", "patch": [1]},
        {"kinds": "mail", "patch": {"x": float("nan")}},
        {"everything": True, "patch": {}},
        {"everything": True, "throttle": 0},
        {"everything": True, "throttle": float("nan")},
        {"everything": True, "stop_rate": 1.5},
        {"everything": True, "stop_rate": "half"},
        {"everything": True, "stop_after": 0},
        {"everything": True, "max_attempts": 0},
    ],
)
def test_bad_input_is_refused_before_it_travels(wrong: dict[str, Any]) -> None:
    app = Windlass("postgresql://nowhere.invalid/x")
    with pytest.raises(InvalidInput):
        app.redrive_sync(**wrong)


def test_a_filter_is_all_that_must_be_said() -> None:
    assert NewRedrive(everything=True).filtered is False
    assert NewRedrive(kinds=("mail",), patch={"a": None}).patch_json() == '{"a":null}'


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    (tmp_path / "shop.py").write_text(APPLICATION)
    return Command(tmp_path, db.url())


def test_a_killed_runner_is_followed_by_another_and_each_job_comes_back_once(
    db: Database, windlass: Command
) -> None:
    dead = kill_many(Session(db.connection()), 2000)
    node = ("worker", "shop:app", "--queues", "none", "--lease", "1s")
    with windlass.running(*node, "--name", "first") as first:
        started = windlass.here(
            *("jobs", "redrive", "--kind", "mail", "--background", "--throttle", "1000", "--yes", "--json")
        )
        redrive_id = started.ok().json["id"]
        assert started.json["expected"] == 2000
        text = "select redriven from windlass.get_redrive(%s, %s)"
        eventually(lambda: db.fetch_value(text, TENANT, redrive_id) > 0, "it has begun")
        first.stop(signal.SIGKILL)
    assert 0 < db.fetch_value(text, TENANT, redrive_id) < 2000, "it was killed in the middle"
    with windlass.running(*node, "--name", "second"):
        *_, last = windlass.here("jobs", "redrive", "--watch", redrive_id, "--json").ok().lines
    assert (last["state"], last["redriven"], last["matched"]) == ("done", 2000, 2000)
    assert redriven(db) == dead
    attempts = windlass.here("jobs", "show", redrive_id, "--json").ok().json["attempts"]
    assert attempts[0]["node_id"] == first.ready["node_id"] != attempts[-1]["node_id"]
    assert attempts[0]["outcome"] == "crashed"
    assert_whole(db)


def test_a_dry_run_shows_count_sample_and_diff(db: Database, windlass: Command) -> None:
    jobs = Session(db.connection())
    (job,) = kill_many(jobs, 1, kind="add", payload={"a": 1})
    kill_many(jobs, 2, kind="add", payload={"a": "one"})
    patched = ("jobs", "redrive", "--kind", "add", "--background", "--dry-run", "--patch", '{"b": 2}')
    shown = windlass.here(*patched, "--app", "shop:app", "--sample", "2").ok()
    assert "ValueError  no such address" in shown.out
    assert f"--- {job} add\n+++ patched\n" in shown.out
    assert '-  "a": 1\n+  "a": 1,\n+  "b": 2\n' in shown.out
    assert "not redriven: the payload of 'add' is not valid: a must be a whole number" in shown.out
    assert shown.err == "3 dead jobs match; of those shown, 1 would not be redriven\n"
    told = windlass.here(*patched, "--json").ok().json
    assert (told["matched"], len(told["sample"]), told["sample"][0]["patched"]) == (3, 3, {"a": 1, "b": 2})
    broken = windlass.here(*patched[:-1], '{"a": "x"}', "--app", "shop:app", "--json")
    assert (broken.code, broken.error["code"]) == (6, "invalid_input")
    assert "no redrives" in windlass.here("redrives").ok().err


def test_list_show_stop_and_watch(db: Database, windlass: Command) -> None:
    kill_many(Session(db.connection()), 3)
    words = ("--background", "--yes", "--reason", "relay is back", "--stop-rate", "0.5", "--throttle", "2")
    answer = windlass.here("jobs", "redrive", "--kind", "mail", "--error", "%address", *words).ok()
    redrive_id = answer.out.strip()
    assert "start one with `windlass worker MODULE:APP`" in answer.err
    (listed,) = windlass.here("redrives", "--json").ok().json["items"]
    assert (listed["id"], listed["state"], listed["expected"]) == (redrive_id, "queued", 3)
    assert "--kind mail --error '%address'" in windlass.here("redrives", "list").ok().out
    shown = windlass.here("redrives", "show", redrive_id).ok().out
    assert "0 of 3 redriven" in shown
    assert "when 0.5 of those that ended died again, of 20 at least" in shown
    stopped = windlass.here("redrives", "stop", redrive_id, "--reason", "not yet").ok()
    assert stopped.out == "stopped: 0 of 3 redriven\n"
    watched = windlass.here("jobs", "redrive", "--watch", redrive_id, "--json")
    assert (watched.code, json.loads(watched.out)["state"]) == (9, "stopped")
    recorded = "select action from windlass_data.event where job_id = %s and action !~ 'enqueue' order by id"
    actions = [row.action for row in db.fetch(recorded, redrive_id, role="superuser")]
    assert actions == ["redrive.start", "redrive.stop", "job.cancel"]


def test_a_patch_that_nobody_can_try_says_so(db: Database, windlass: Command) -> None:
    kill_many(Session(db.connection()), 1, kind="add", payload={"a": "one"})
    words = ("--background", "--yes", "--patch", '{"a": 1}')
    redrive_id = windlass.here("jobs", "redrive", "--kind", "add", *words).ok().out.strip()
    sentence = "no active node knows the kind 'add'"
    assert sentence in windlass.here("redrives", "show", redrive_id).ok().out
    with windlass.running("worker", "shop:app"):
        assert sentence not in windlass.here("redrives", "show", redrive_id).ok().out
        watched = windlass.here("jobs", "redrive", "--watch", redrive_id).ok()
    assert watched.out == "done: 1 of 1 redriven\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--background", "--yes"], 2),
        (["--all", "--kind", "mail", "--background", "--yes"], 2),
        (["--all", "--background"], 2),
        (["--all", "--background", "--yes", "--limit", "5"], 2),
        (["--all", "--throttle", "5", "--yes"], 2),
        (["--watch"], 2),
        (["--all", "--background", "--yes", "--throttle", "0"], 6),
        (["--all", "--background", "--yes", "--stop-rate", "1.1"], 6),
        (["--all", "--background", "--yes", "--patch", "{}"], 6),
        (["--kind", "mail", "--background", "--yes", "--patch", "[]"], 6),
        (["--kind", "mail", "--background", "--yes", "--patch", "{"], 6),
        (["--kind", "mail", "--background", "--yes", "--error", "x" * 201], 6),
        (["--all", "--background", "--yes", "--tenant", "nobody"], 3),
        (["--watch", "00000000-0000-7000-8000-00000000dead"], 3),
    ],
)
def test_bad_input_has_its_code(windlass: Command, words: list[str], code: int) -> None:
    assert windlass.here("jobs", "redrive", *words).code == code


@pytest.mark.parametrize(
    ("patch", "words"), [([1], "an array"), ("a", "a string"), (7, "a number"), (True, "a boolean")]
)
def test_a_patch_that_is_no_object_is_called_what_json_calls_it(patch: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=f"the patch must be a JSON object, not {words}$"):
        NewRedrive(kinds=("mail",), patch=patch)
