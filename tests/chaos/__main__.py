"""`./run chaos`: break everything while jobs run, and account for each of them afterwards."""

import argparse
import logging
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.faults import FAULTS
from tests.chaos.figures import FIGURES
from tests.chaos.figures.table import as_table, measure, write_table
from tests.chaos.live import Live
from tests.chaos.report import as_text, write
from tests.chaos.runner import Plan, run

__all__ = ["main"]

NOT_ALONE = frozenset({"failover"})
"""Faults that a run has only when it was given what they need."""


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="./run chaos",
        description="Break everything while jobs run, and account for each of them afterwards.",
        epilog="faults: " + ", ".join(FAULTS) + ".  figures: " + ", ".join(FIGURES) + ".",
    )
    found.add_argument(
        "what", nargs="*", metavar="FIGURE", help="measure these figures instead; `figures` is all"
    )
    found.add_argument("--jobs", type=int, default=20_000, help="how many jobs (20000)")
    found.add_argument("--minutes", type=float, default=2.0, help="how long faults go on (2)")
    found.add_argument("--seed", type=int, help="repeat the run with this seed")
    found.add_argument("--faults", help="only these, separated by commas; `none` for none")
    found.add_argument("--report", type=Path, help="where report.txt, report.json and report.html go")
    found.add_argument("--standby", choices=("none", "sync", "async"), default="none")
    found.add_argument("--lease", type=float, default=2.0, help="seconds that a lease lasts (2)")
    found.add_argument("--workers", type=int, default=3)
    found.add_argument("--slots", type=int, default=8, help="jobs at a time in each worker (8)")
    found.add_argument("--gap", type=float, default=1.5, help="seconds between faults, on average (1.5)")
    found.add_argument(
        "--postgres", "--pg", type=int, metavar="MAJOR", dest="major", help="the PostgreSQL version to break"
    )
    found.add_argument("--scale", type=float, default=1.0, help="figures: how much of the full count")
    return found


def make_plan(asked: argparse.Namespace) -> Plan:
    """The plan that the arguments describe."""
    if asked.faults is None:
        chosen = tuple(name for name in FAULTS if name not in NOT_ALONE or asked.standby != "none")
    else:
        chosen = tuple(name for name in asked.faults.split(",") if name and name != "none")
    if unknown := [name for name in chosen if name not in FAULTS]:
        raise SystemExit(f"no such fault: {', '.join(unknown)}; there are {', '.join(FAULTS)}")
    return Plan(
        jobs=asked.jobs,
        seconds=asked.minutes * 60,
        seed=random.SystemRandom().randrange(1_000_000) if asked.seed is None else asked.seed,
        faults=chosen,
        lease_seconds=asked.lease,
        workers=asked.workers,
        concurrency=asked.slots,
        standby=asked.standby,
        major=asked.major,
        gap_seconds=asked.gap,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    asked = parser().parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGINT):  # servers, mounts and namespaces must not stay behind
        signal.signal(number, lambda *_: sys.exit(130))
    directory = asked.report or Path(tempfile.mkdtemp(prefix="windlass-chaos-"))
    directory.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(filename=directory / "harness.log", force=True)
    return _figures(asked, directory) if asked.what else _run(asked, directory)


def _run(asked: argparse.Namespace, directory: Path) -> int:
    plan, live = make_plan(asked), Live(asked.jobs)
    sys.stderr.write(f"seed {plan.seed}; the same again: ./run chaos --seed {plan.seed} {_told(asked)}\n")
    work = directory / "run"
    shutil.rmtree(work, ignore_errors=True)  # of a run that was cut short
    result = run(plan, work, live)
    live.close()
    if result.kept:  # else somebody will want to read them
        shutil.rmtree(work)
    files = write(result, directory)
    sys.stdout.write(as_text(result) + "\n" + "\n".join(str(path) for path in files) + "\n")
    return 0 if result.kept else 1


def _told(asked: argparse.Namespace) -> str:
    words = [f"--jobs {asked.jobs}", f"--minutes {asked.minutes:g}"]
    words += [f"--faults {asked.faults}"] if asked.faults is not None else []
    words += [f"--standby {asked.standby}"] if asked.standby != "none" else []
    words += [f"--lease {asked.lease:g}", f"--workers {asked.workers}", f"--slots {asked.slots}"]
    return " ".join([*words, f"--gap {asked.gap:g}", *([f"--postgres {asked.major}"] if asked.major else [])])


def _figures(asked: argparse.Namespace, directory: Path) -> int:
    names = list(FIGURES) if asked.what == ["figures"] else asked.what
    if unknown := [name for name in names if name not in FIGURES]:
        raise SystemExit(f"no such figure: {', '.join(unknown)}; there are {', '.join(FIGURES)}")
    seen = measure(names, directory, scale=asked.scale, major=asked.major, say=sys.stderr.write)
    write_table(seen, directory)
    sys.stdout.write(as_table(seen))
    return 0 if all(figure.met for figure in seen) else 1


if __name__ == "__main__":
    sys.exit(main())
