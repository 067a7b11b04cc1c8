"""The examples do what they say."""

import contextlib
import os
import re
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.command import PATIENCE, Command, eventually
from tests.pooler import environment_for
from tests.support import Database

EXAMPLES = Path(__file__).parents[2] / "examples"
PAGES = EXAMPLES.parent / "docs"
SAYS = {
    "cluster_job.py": ["prices is warm on node-1, node-2", "2 of 3 parts done, 2 were needed"],
    "first_job.py": ["Hello, world!"],
    "transactional_enqueue.py": ["order 2: out of stock", "orders: [1]", "jobs: [1]"],
}
_SLOW = re.compile(r"Executing <.*> took \d+\.\d+ seconds")


def test_every_example_is_here() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


def test_no_example_finds_the_jobs_of_another_or_of_a_page() -> None:
    """Whoever tries things out does so on one database."""
    kinds = []
    for path in EXAMPLES.glob("*.py"):
        app = runpy.run_path(str(path))["app"]
        kinds += [*app.registry.kinds(), *app.cluster.names()]
    assert len(kinds) >= len(SAYS)
    assert len(set(kinds)) == len(kinds)
    pages = "".join(page.read_text() for page in (EXAMPLES.parent / "README.md", *PAGES.glob("**/*.md")))
    assert [kind for kind in kinds if re.search(rf"\b{kind}\b", pages)] == []


@pytest.mark.parametrize("name", SAYS)
def test_example(db: Database, name: str) -> None:
    environment = {**os.environ, "WINDLASS_DATABASE_URL": db.url(), **environment_for(db.url())}
    command = [sys.executable, "-X", "dev", "-W", "error", str(EXAMPLES / name)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == SAYS[name], done.stderr
    # Of what asyncio's debug mode complains, slowness alone is the machine's fault.
    faults = [line for line in done.stderr.splitlines() if not _SLOW.fullmatch(line)]
    assert (done.returncode, faults) == (0, [])


OTHERS = """
from windlass import Windlass

app = Windlass()


@app.cluster_job()
async def count_shelves() -> None: ...
"""


def test_the_nodes_of_an_example_that_fails_end_with_it(db: Database, tmp_path: Path) -> None:
    """The leader is somebody else's, and refuses a cluster job of whose kind it knows nothing."""
    (tmp_path / "catalogue.py").write_text(OTHERS)
    command = Command(tmp_path, db.url())
    with (
        command.running("worker", "catalogue:app", "--name", "their-node"),
        (tmp_path / "said").open("w+") as said,
    ):
        eventually(lambda: any(node["leads"] for node in nodes(command)), "there is a leader")
        example = subprocess.Popen(
            [sys.executable, str(EXAMPLES / "cluster_job.py")],
            env=command.environment,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        try:
            assert example.wait(timeout=PATIENCE) == 1
            said.seek(0)
            assert "warm_cache" in said.read().splitlines()[-1]
            assert [node["name"] for node in nodes(command)] == ["their-node"]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(example.pid, signal.SIGKILL)


def nodes(command: Command) -> list[Any]:
    """Those that run."""
    items: list[Any] = command.here("nodes", "--json").ok().json["items"]
    return [node for node in items if node["active"]]
