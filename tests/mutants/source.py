"""A copy of the source in which tests are run: the tree itself is never changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.mutants.mutant import ROOT

__all__ = ["check_copy", "copy_source", "environment_of", "run_tests"]

_IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache")


def copy_source(directory: Path) -> None:
    for folder in ("src", "tests", "docs"):
        shutil.copytree(ROOT / folder, directory / folder, ignore=_IGNORED)
    shutil.copy(ROOT / "pyproject.toml", directory)


def environment_of(directory: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(directory / "src")}


def run_tests(directory: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """The tests of the copy, with the package of the copy."""
    brief = ["-n", "0", "-x", "-q", "-p", "no:cacheprovider"]
    brief.append("--hypothesis-profile=unshrunk")  # to find the shortest failure takes minutes
    command = [sys.executable, "-m", "pytest", *brief, *tests]
    return subprocess.run(
        command, cwd=directory, env=environment_of(directory), capture_output=True, text=True, check=False
    )


def check_copy(directory: Path) -> None:
    """That the copy is what is tested, and not the package that is installed."""
    command = [sys.executable, "-c", "import windlass; print(windlass.__file__)"]
    found = subprocess.run(
        command, cwd=directory, env=environment_of(directory), capture_output=True, text=True, check=True
    ).stdout
    if not found.startswith(str(directory)):
        raise SystemExit(f"mutants: the copy is not what would be tested, but {found.strip()}")
