"""A process that is a worker and nothing else: its loop, and its garbage collector."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from windlass.worker.own_process import YOUNG_OBJECTS

SCRIPT = """
import asyncio, gc
{before}
from windlass.worker.own_process import run_as_worker

async def main() -> None:
    print(gc.get_threshold()[0], gc.get_freeze_count() > 10_000, type(asyncio.get_running_loop()).__module__)

run_as_worker(main())
"""


def said_by(before: str) -> list[str]:
    script = SCRIPT.format(before=before)
    return subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout.split()


@pytest.mark.parametrize(
    ("before", "young"),
    [
        ("", YOUNG_OBJECTS),
        ("gc.set_threshold(50_000)", 50_000),
        ("gc.set_threshold(0)", 0),
    ],
    ids=["as it comes", "set higher by the application", "switched off by the application"],
)
def test_young_garbage_is_collected_seldom_and_what_was_imported_never(before: str, young: int) -> None:
    threshold, frozen, loop = said_by(before)
    assert (int(threshold), frozen) == (young, "True")
    assert loop.startswith("uvloop" if find_spec("uvloop") else "asyncio")


def test_where_uvloop_is_not_installed_the_loop_is_pythons_own() -> None:
    assert said_by("import sys; sys.modules['uvloop'] = None")[2].startswith("asyncio")
