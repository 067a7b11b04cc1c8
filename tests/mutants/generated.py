"""Generated changes of the functions that move jobs: `./run mutants --generated [--sample N] [--seed S]`.

One change each, by the rules of sql_changes.py and python_changes.py; the tests named after the function,
those of its callers and the broad ones must notice.  A change that does not compile is left out, one that
changes nothing that is promised is listed in equivalents.py, and the score is of all others.
"""

import argparse
import fnmatch
import random
import sys
import time
from collections import Counter
from pathlib import Path

from tests.mutants.change import Change
from tests.mutants.equivalents import EQUIVALENT
from tests.mutants.judge import PYTHON_TESTS, VERDICTS, Judge
from tests.mutants.mutant import ROOT
from tests.mutants.python_changes import python_changes
from tests.mutants.sql_changes import sql_changes

__all__ = ["every_change", "main", "sampled"]

GOAL = 80.0

LEASE = "sql/code/lease/*.sql"
JOB = (
    "_check_dead",
    "_dead_jobs",
    "_describe_jobs",
    "_enqueue",
    "_enqueue_special",
    "_insert_jobs",
    "_is_bad",
    "_leave_line",
    "_line_up",
    "_lock_dead_jobs",
    "_lock_jobs",
    "_next_jobs",
    "_note_dead",
    "_note_work",
    "_place_jobs",
    "_resolve_duplicate",
    "_retake_keys",
    "_retry_delay",
    "_revive_jobs",
    "_wake",
    "cancel_job",
    "enqueue_job",
    "enqueue_jobs",
    "enqueue_many",
    "redrive_jobs",
    "reschedule_job",
)


def every_change(root: Path, wanted: str = "*") -> list[Change]:
    """All of them, in the order of files and of their texts."""
    source = root / "src" / "windlass"
    files = [*sorted(source.glob(LEASE)), *(source / "sql" / "code" / "job" / f"{name}.sql" for name in JOB)]
    changes = []
    for path in (*files, *(source / name for name in PYTHON_TESTS)):
        name = path.relative_to(source).as_posix()
        if fnmatch.fnmatch(name, wanted):
            rules = sql_changes if path.suffix == ".sql" else python_changes
            changes += rules(name, path.read_text())
    return changes


def sampled(changes: list[Change], size: int | None, seed: int) -> list[Change]:
    """Some of them: the same for the same seed and the same source."""
    if size is None or size >= len(changes):
        return changes
    return random.Random(seed).sample(changes, size)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run mutants --generated")
    parser.add_argument("--sample", type=int, metavar="N", help="only so many, chosen by the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1", metavar="I/N", help="every N-th of them, from the I-th on")
    parser.add_argument("--files", default="*", metavar="GLOB", help="only of files below src/windlass")
    parser.add_argument("--only", default="", metavar="TEXT", help="only those whose name contains this")
    parser.add_argument("--list", action="store_true", help="name them all and test nothing")
    given = parser.parse_args(arguments)
    every = [change for change in every_change(ROOT, given.files) if given.only in change.name]
    first, parts = map(int, given.part.split("/"))
    chosen = sampled(every, given.sample, given.seed)[first - 1 :: parts]
    if given.list:
        sys.stdout.write("".join(f"{change.name}\n" for change in chosen))
        return 0
    sys.stdout.write(f"{len(chosen)} of {len(every)} changes, seed {given.seed}\n")
    with Judge(ROOT) as judge:
        return report(judge, chosen)


def report(judge: Judge, changes: list[Change]) -> int:
    """A line for each, and the score; 1 if it is too low."""
    verdicts: Counter[str] = Counter()
    began = time.monotonic()
    for change in changes:
        known = EQUIVALENT.get(change.name)
        verdict, why = ("equivalent", known) if known else judge.verdict(change)
        verdicts[verdict] += 1
        sys.stdout.write(f"{verdict:10} {change.name} | {change.new!r} | {why}\n")
        sys.stdout.flush()
    counted = verdicts["killed"] + verdicts["survived"]
    score = 100 * verdicts["killed"] / counted if counted else 100.0
    told = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS)
    sys.stdout.write(f"{told}: score {score:.1f} % ({time.monotonic() - began:.0f} s)\n")
    return 0 if score >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
