"""The command line."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

__all__ = ["cache_dir", "command_line", "parse"]

EPILOG = """examples:
  ./run bench                          the core workloads, beside the floor
  ./run bench --quick                  two minutes, ratios to the floor, exit 1 when one is too low
  ./run bench --peers --reps 5 --json results.json
  ./run bench --only W3,W6,W6c --systems windlass,floor,graphile-worker
  ./run bench --render results.json    write docs/performance.md and its pictures again
"""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run bench",
        description="Measure Windlass beside the raw floor and, if asked, beside other queues.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--list", action="store_true", help="name the workloads and systems, and do nothing")
    add("--only", metavar="W1,W3", type=_names, help="these workloads")
    add("--all", action="store_true", help="every workload, the long ones too")
    add("--systems", metavar="A,B", type=_names, help="these systems; default: windlass, floor, floor-notify")
    add("--peers", action="store_true", help="also every peer, installed into a cache directory")
    add("--reps", metavar="N", type=_positive, help="repetitions, each with all systems in turn (default 3)")
    add("--scale", metavar="X", type=_scale, help="sizes and lengths times X (default 1)")
    add("--quick", action="store_true", help="a short lane: ratios to the floor against fixed thresholds")
    add("--seed", metavar="N", type=int, default=1, help="of the order in which systems take turns")
    add("--history", metavar="N", type=_positive, default=10_000_000, help="finished jobs of `history`")
    add("--json", metavar="FILE", type=Path, help="write the results there")
    add("--render", metavar="FILE", type=Path, nargs="+", help="write docs/performance.md from results")
    add("--database-url", metavar="URL", help="a server to measure on, as its superuser; default: our own")
    add("--data-dir", metavar="DIR", type=Path, help="where our own server keeps its data, on a disk")
    add("--cache-dir", metavar="DIR", type=Path, default=cache_dir(), help="where peers are installed")
    add("--small", action="store_true", help="let --render write a page of results below scale 1")
    options = parser.parse_args(arguments)
    _check(parser, options)
    options.reps = options.reps or (1 if options.quick else 3)
    options.scale = options.scale or (0.2 if options.quick else 1.0)
    return options


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """What can be known to be wrong before anything is measured, which may take hours."""
    if options.quick and options.all:
        parser.error("--quick has workloads of its own: leave --all away, or name some with --only")
    if options.quick and options.systems and not {"windlass", "floor"} <= set(options.systems):
        parser.error("--quick holds windlass against the floor: --systems must name both")
    if options.json is not None and (options.json.is_dir() or not options.json.parent.is_dir()):
        parser.error(f"--json: there is no directory {options.json.parent}, or {options.json} is one itself")
    if options.data_dir is not None and not options.data_dir.is_dir():
        parser.error(f"--data-dir: there is no directory {options.data_dir}")


def command_line(arguments: Sequence[str]) -> str:
    """The command as it is recorded: without what only this machine knows."""
    words = list(arguments)
    for option in ("--cache-dir", "--data-dir", "--database-url"):
        while option in words:
            place = words.index(option)
            del words[place : place + 2]
    words = [
        word for word in words if not word.startswith(("--cache-dir=", "--data-dir=", "--database-url="))
    ]
    return " ".join(["./run bench", *map(_shown, words)])


def _shown(word: str) -> str:
    """A path that leads out of the project by its name alone."""
    option, equals, path = word.rpartition("=")
    elsewhere = Path(path).is_absolute() or ".." in Path(path).parts
    return f"{option}{equals}{Path(path).name}" if elsewhere else word


def cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "windlass-bench"


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("names nothing")
    return names


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, 1 or more, not {text!r}")
    return int(text)


def _scale(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 100:
        raise argparse.ArgumentTypeError(f"must be a number above 0 and at most 100, not {text!r}")
    return number
