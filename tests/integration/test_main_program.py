"""A child process reads the main program to find a handler in it, and the program starts nothing there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pooler import environment_for
from tests.support import Database

PROGRAM = """
import asyncio
import psycopg
from windlass import JobFailed, Windlass
from windlass.node import Node

app = Windlass()


@app.job(isolation="process", max_attempts=1)
def double(n: int) -> int:
    return n * 2


async def main(**options):
    async with app, app.worker(concurrency=2, **options):
        try:
            print(await (await double.enqueue(21)).wait(timeout=30))
        except JobFailed as failed:
            print(failed)


def enqueue_on_own_connection():
    with psycopg.connect(app.database_url) as connection:
        double.options(connection=connection, queue="aside").enqueue_sync(1)


"""
GUARDED = '\nif __name__ == "__main__":\n    asyncio.run(main())\n'
NODE = 'if __name__ != "__main__":\n    asyncio.run(Node(app.settings, app.registry).run())\n'
# What stands unguarded, what the child says of it, and how many jobs the program itself enqueues.
STARTS = {
    "a worker": ("asyncio.run(main())", "starts a worker", 1),
    "a worker that tends nothing": ("asyncio.run(main(tends=False))", "starts a worker", 1),
    "a node": (NODE + GUARDED, "starts a node", 1),
    "an enqueue": ('double.options(queue="aside").enqueue_sync(1)' + GUARDED, "opens a client", 2),
    "an awaited enqueue": (
        'asyncio.run(double.options(queue="aside").enqueue(1))' + GUARDED,
        "opens a client",
        2,
    ),
    "an enqueue in a transaction": (
        "enqueue_on_own_connection()" + GUARDED,
        "uses a connection for jobs",
        2,
    ),
}


WAYS = {
    "a file": ("program.py", ["program.py"]),
    "a module": ("program.py", ["-m", "program"]),
    "a package": ("program/__main__.py", ["-m", "program"]),
    "a folder": ("program/__main__.py", ["program"]),
}


def run(db: Database, folder: Path, program: str, way: str = "a file") -> list[str]:
    file, arguments = WAYS[way]
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(program)
    environment = {**os.environ, "WINDLASS_DATABASE_URL": db.url(), **environment_for(db.url())}
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("way", ["a file", "a module"])
@pytest.mark.parametrize("what", STARTS)
def test_what_is_not_guarded_is_refused_in_a_child(db: Database, tmp_path: Path, what: str, way: str) -> None:
    code, does, jobs = STARTS[what]
    (said,) = run(db, tmp_path, PROGRAM + code, way)
    assert said.endswith(
        f": the program {does} while a child process reads it for a handler: "
        'put what it starts under `if __name__ == "__main__":`'
    )
    count = db.fetch_value("select count(*) from windlass_data.job", role="superuser")
    assert count == jobs, "no child has enqueued anything"


@pytest.mark.parametrize("way", WAYS)
def test_what_is_guarded_runs(db: Database, tmp_path: Path, way: str) -> None:
    beside = "\nworker = app.worker()\nclient = app.client\nblocking = app.sync\n"  # made, and not opened
    assert run(db, tmp_path, PROGRAM + beside + GUARDED, way) == ["42"]


def test_what_ends_the_reading_is_recorded(db: Database, tmp_path: Path) -> None:
    ends = 'if __name__ != "__main__":\n    raise GeneratorExit("not here")\n'
    (said,) = run(db, tmp_path, PROGRAM + ends + GUARDED)
    assert said.endswith("is dead after 1 attempt: not here")


def test_a_handler_may_open_what_it_needs(db: Database, tmp_path: Path) -> None:
    program = PROGRAM.replace(
        "    return n * 2", '    double.options(queue="aside").enqueue_sync(1)\n    return n * 2'
    )
    assert run(db, tmp_path, program + GUARDED) == ["42"]
