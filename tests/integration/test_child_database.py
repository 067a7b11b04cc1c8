"""A handler in a child process finds the database that its worker works on, whatever the environment says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import Database, Server

pytestmark = pytest.mark.direct(reason="at() leads to a database, not to a pooler")

ELSEWHERE = "postgresql://nobody@nowhere.invalid/none"
SHOP = """
from windlass import JobContext, Windlass
from windlass.settings import Settings

app = {app}
beside = {beside}


@app.job
def second(n: int) -> int:
    return n


@beside.job
def third(n: int) -> int:
    return n


@app.job(isolation="process", max_attempts=1)
def first(ctx: JobContext, n: int) -> list[str | None]:
    second.enqueue_sync(n)
    settings = app.settings
    return [app.database_url, settings.pooler, settings.listen_url, settings.tenant, beside.database_url]


@app.job(isolation="process", max_attempts=1)
def onwards(n: int) -> str:
    third.enqueue_sync(n)
    return beside.database_url


"""
PROGRAM = """
import asyncio, sys
from shop import *
from windlass.testing import jobs, run_due_sync

{body}
"""
DUE = """
with app.at(sys.argv[1]):
    first.enqueue_sync(1)
    (ran, _) = run_due_sync(app)
    print(ran.error, *ran.result or ())
    print([job.kind for job in jobs(app)])
"""
WORKER = """
async def main():
    with app.at(sys.argv[1]):
        worker = app.worker(concurrency=2)
        handle = await first.enqueue(1)
        async with app, worker:
            print(None, *await handle.wait(timeout=60))
            await worker.idle()
            print([job.kind for job in jobs(app)])

asyncio.run(main())
"""
BOTH = """
with app.at(sys.argv[1]), beside.at(sys.argv[2]):
    onwards.enqueue_sync(1)
    (ran,) = run_due_sync(app)
    print(ran.error, ran.result)
    print([job.kind for job in jobs(beside)])
"""
NAMED = f"Windlass({ELSEWHERE!r})"
SETTLED = 'Windlass(settings=Settings(tenant="default"))'


def run(folder: Path, body: str, *urls: str, app: str, beside: str = "Windlass()", given: str) -> list[str]:
    (folder / "shop.py").write_text(SHOP.format(app=app, beside=beside))
    (folder / "program.py").write_text(PROGRAM.format(body=body))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS")}
    environment = {**clean, "WINDLASS_DATABASE_URL": given, "WINDLASS_LISTEN_URL": ELSEWHERE}
    done = subprocess.run(
        [sys.executable, "program.py", *urls],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("app", ["Windlass()", NAMED, SETTLED], ids=["unnamed", "named", "settled"])
@pytest.mark.parametrize("body", [DUE, WORKER], ids=["run_due", "worker"])
def test_a_child_is_at_the_database_of_its_worker(db: Database, tmp_path: Path, app: str, body: str) -> None:
    said, kinds = run(tmp_path, body, db.url(), app=app, given=ELSEWHERE)
    assert said == f"None {db.url()} none None default {db.url()}"
    assert kinds == "['first', 'second']"


@pytest.mark.parametrize("beside", ["Windlass()", NAMED], ids=["unnamed", "named"])
def test_an_application_beside_it_is_where_it_was_led(
    db: Database, server: Server, tmp_path: Path, beside: str
) -> None:
    with server.database() as other:
        urls = (db.url(), other.url())
        app = "Windlass('postgresql://nobody@nowhere.invalid/first')"
        said, kinds = run(tmp_path, BOTH, *urls, app=app, beside=beside, given=ELSEWHERE)
    assert said == f"None {other.url()}"
    assert kinds == "['third']"


@pytest.mark.parametrize("led", [True, False], ids=["led elsewhere", "where it says"])
def test_what_an_author_said_of_an_application_beside_it_stays(
    db: Database, tmp_path: Path, led: bool
) -> None:
    """Not led elsewhere, an application in a child is where it would be in a thread of the worker."""
    other = "postgresql://nobody@nowhere.invalid/other"
    app, beside = ("Windlass()", f"Windlass({other!r})") if led else (f"Windlass({db.url()!r})", "Windlass()")
    body = DUE if led else DUE.replace("with app.at(sys.argv[1]):", "if True:")
    said, _ = run(tmp_path, body, db.url(), app=app, beside=beside, given=other)
    assert said.split()[1] == db.url()
    assert said.split()[-1] == other
