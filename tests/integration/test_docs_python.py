"""docs/python.md and the README's first job: the examples run, and print what their comments say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.command import PATIENCE, Command
from tests.support import Database
from windlass.demo import main as demo

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "python.md").read_text()
SHOWN = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
FILES = {text.partition("\n")[0].removeprefix("# "): text for text in SHOWN}
SCRIPTS = [name for name in FILES if not name.startswith("test_")]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run_python(command: Command, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", *words],
        cwd=command.cwd,
        env=command.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_every_example_is_a_file_and_says_what_it_prints() -> None:
    assert len(FILES) == len(SHOWN) >= 6
    assert all(re.fullmatch(r"\w+\.py", name) for name in FILES)
    printing = [line for text in SHOWN for line in text.splitlines() if "print(" in line]
    assert printing
    assert all(")  # " in line for line in printing)


def test_the_examples_print_what_they_say(db: Database, directory: Path) -> None:
    command = Command(directory, db.url())
    with command.running("worker", "shop:app"):
        for name in SCRIPTS:
            done = run_python(command, name)
            assert (name, done.returncode, done.stderr) == (name, 0, "")
            assert done.stdout.splitlines() == re.findall(r"print\(.*\)  # (.+)$", FILES[name], re.MULTILINE)


def test_the_example_of_a_test_needs_no_database(directory: Path) -> None:
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "test_shop.py"]
    done = run_python(Command(directory), *words)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_first_job_is_as_short_as_the_demo_says_and_runs(db: Database, tmp_path: Path) -> None:
    (text,) = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE
    )
    assert f"in {len(text.splitlines())} lines\n" in demo._NEXT
    (tmp_path / "first_job.py").write_text(text)
    done = run_python(Command(tmp_path, db.url()), "first_job.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello, Ada\n", "")


def test_the_example_of_a_cluster_job_prints_what_its_page_says(db: Database, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "cluster-jobs.md").read_text()
    (text,) = re.findall(r"^```python\n(# catalogue\.py\n.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "catalogue.py").write_text(text)
    command = Command(tmp_path, db.url())
    with command.running("worker", "catalogue:app", "--name", "mill") as node:
        assert node.ready["kinds"] == ["compact"]
        done = run_python(command, "catalogue.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"`{done.stdout.strip()}`" in page
