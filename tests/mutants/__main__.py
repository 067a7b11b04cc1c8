"""Take out one guard at a time and show which test notices: `./run mutants [NAME...]`, `--list`.

The source is copied to a temporary directory first.  There the chosen tests must be green as it is, and at
least one of them red without the guard; a mutant that makes no test fail is a hole in the tests.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.catalog import MUTANTS
from tests.mutants.mutant import ROOT, Mutant, chosen

_FAILED = re.compile(r"^(?:FAILED|SUBFAILED\S*(?: \[.*?\])?(?: \(.*?\))?) (tests/\S+)", re.MULTILINE)
_IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache")


def copy_source(directory: Path) -> None:
    for folder in ("src", "tests", "docs"):
        shutil.copytree(ROOT / folder, directory / folder, ignore=_IGNORED)
    shutil.copy(ROOT / "pyproject.toml", directory)


def run_tests(directory: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """The tests of the copy, with the package of the copy."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(directory / "src")}
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


def check_copy(directory: Path) -> None:
    """That the copy is what is tested, and not the package that is installed."""
    environment = {**os.environ, "PYTHONPATH": str(directory / "src")}
    command = [sys.executable, "-c", "import windlass; print(windlass.__file__)"]
    found = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=True
    ).stdout
    if not found.startswith(str(directory)):
        raise SystemExit(f"mutants: the copy is not what would be tested, but {found.strip()}")


def find_red(directory: Path, mutant: Mutant) -> str | None:
    """The first test that fails without the guard; None if none does."""
    path = mutant.path(directory)
    whole = path.read_text()
    path.write_text(mutant.apply(whole))
    try:
        done = run_tests(directory, mutant.tests)
    finally:
        path.write_text(whole)
    failed = _FAILED.search(done.stdout)
    if failed is None and done.returncode != 0:
        return f"no verdict (exit code {done.returncode}): {done.stdout[-2000:]}{done.stderr[-500:]}"
    return failed[1] if failed else None


def show(*cells: str) -> None:
    sys.stdout.write(
        " | ".join(f"{cell:{width}}" for cell, width in zip(cells, (22, 54, 36, 0), strict=True)) + "\n"
    )
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run mutants", description="Take out one guard at a time.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--list", action="store_true", help="name them all and test nothing")
    parser.add_argument(
        "--no-control", action="store_true", help="do not run the tests on the whole source first"
    )
    given = parser.parse_args(arguments)
    mutants = chosen(MUTANTS, given.names)
    if given.list:
        for mutant in mutants:
            show(mutant.name, mutant.guard, mutant.file, " ".join(mutant.tests))
        return 0
    with tempfile.TemporaryDirectory(prefix="windlass-mutants-") as name:
        directory = Path(name).resolve()
        copy_source(directory)
        check_copy(directory)
        for mutant in mutants:  # all of them before any test: who must mend a text waits for none
            mutant.apply(mutant.path(directory).read_text())
        if not given.no_control:
            tests = tuple(dict.fromkeys(test for mutant in mutants for test in mutant.tests))
            done = run_tests(directory, tests)
            if done.returncode != 0:
                sys.stdout.write(done.stdout)
                raise SystemExit(
                    "mutants: the tests are not green on the whole source, so nothing can be said"
                )
        return report(directory, mutants)


def report(directory: Path, mutants: list[Mutant]) -> int:
    show("name", "guard", "file", "red by")
    alive = 0
    began = time.monotonic()
    for mutant in mutants:
        red = find_red(directory, mutant)
        alive += red is None or red.startswith("no verdict")
        show(mutant.name, mutant.guard, mutant.file, red or "NOTHING: no test noticed")
    seconds = time.monotonic() - began
    sys.stdout.write(
        f"{len(mutants) - alive} of {len(mutants)} guards: a test turns red without them ({seconds:.0f} s)\n"
    )
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
