"""Take out one guard at a time and show which test notices: `./run mutants [NAME...]`, `--list`.

The source is copied to a temporary directory first.  There the chosen tests must be green as it is, and at
least one of them red without the guard; a mutant that makes no test fail is a hole in the tests.
`./run mutants --generated` makes its changes by rule instead; see generated.py.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.catalog import MUTANTS
from tests.mutants.mutant import Mutant, chosen
from tests.mutants.source import check_copy, copy_source, environment_of, run_tests

_FAILED = re.compile(r"^(?:FAILED|SUBFAILED\S*(?: \[.*?\])?(?: \(.*?\))?) (tests/\S+)", re.MULTILINE)


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


def run_generated(arguments: list[str]) -> int:
    """All of it happens in the copy, and in a process that has loaded nothing else."""
    with tempfile.TemporaryDirectory(prefix="windlass-mutants-") as name:
        directory = Path(name).resolve()
        copy_source(directory)
        check_copy(directory)
        command = [sys.executable, "-m", "tests.mutants.generated", *arguments]
        return subprocess.run(command, cwd=directory, env=environment_of(directory), check=False).returncode


def main(arguments: list[str]) -> int:
    if "--generated" in arguments:
        return run_generated([argument for argument in arguments if argument != "--generated"])
    parser = argparse.ArgumentParser(prog="./run mutants", description="Take out one guard at a time.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument(
        "--generated", action="store_true", help="change something by rule; --generated --help says more"
    )
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
