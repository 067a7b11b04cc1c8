"""A login that may not run jobs hears at the start what to grant; one that loses the right is no end."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.command import APPLICATION, Command
from tests.integration.crew import PATIENCE, until
from tests.support import Database
from windlass import Forbidden, Windlass
from windlass.settings import Settings

pytestmark = pytest.mark.direct(reason="the pooler knows two logins")

LOGIN = '"windlass Guest"'


class Guest:
    """A login that may produce."""

    def __init__(self, db: Database) -> None:
        self._admin = db.connect("superuser")
        self.url = db.server.url(LOGIN.strip('"'), db.name)
        self.say(f"create role {LOGIN} login in role windlass_producer")

    def say(self, statement: str) -> None:
        self._admin.execute(statement.encode())


@pytest.fixture
def guest(db: Database) -> Iterator[Guest]:
    guest = Guest(db)
    yield guest
    guest.say(f"drop role {LOGIN}")


@pytest.mark.parametrize("words", [("worker", "shop:app"), ("up", "--app", "shop:app")], ids=["worker", "up"])
def test_a_command_that_may_not_run_jobs_ends_and_says_what_to_grant(
    guest: Guest, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "shop.py").write_text(APPLICATION)
    answer = Command(tmp_path, guest.url)(*words, "--json")
    assert (answer.code, answer.out) == (5, ""), "it was never ready"
    error = json.loads(answer.err.splitlines()[-1])["error"]
    assert error["code"] == "forbidden"
    assert error["message"] == f"the login {LOGIN} may not run jobs: grant it windlass_worker"
    assert error["details"]["hint"].startswith(f"grant windlass_worker to {LOGIN};")
    guest.say(error["details"]["hint"].partition(";")[0])
    with Command(tmp_path, guest.url).running(*words) as worker:
        assert worker.stop().code == 0


async def nod() -> str:
    return "yes"


async def test_a_worker_in_a_program_does_not_start(guest: Guest) -> None:
    app = Windlass(settings=Settings(database_url=guest.url))
    app.job(nod)
    with pytest.raises(Forbidden, match="grant it windlass_worker"):
        async with app.worker():
            raise AssertionError("it has started")


async def test_a_right_that_is_taken_away_later_does_not_end_a_worker(
    guest: Guest, caplog: pytest.LogCaptureFixture
) -> None:
    guest.say(f"grant windlass_worker to {LOGIN}")
    app = Windlass(settings=Settings(database_url=guest.url))
    job = app.job(nod)
    async with app, app.worker(poll_seconds=0.05):
        guest.say(f"revoke windlass_worker from {LOGIN}")
        await until(
            lambda: "forbidden" in [vars(record).get("code") for record in caplog.records], "it is told"
        )
        guest.say(f"grant windlass_worker to {LOGIN}")
        assert await (await job.enqueue()).wait(timeout=PATIENCE) == "yes"
