"""The examples do what they say."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

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
