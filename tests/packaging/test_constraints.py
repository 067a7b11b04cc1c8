"""constraints.txt is the lock: complete, and free of the addresses of whoever wrote it."""

import os
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK_LIKE = (
    "constraints*.txt",
    "requirements*.txt",
    "*.lock",
    "pylock*.toml",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
)
# Written by installers on this machine, never part of the project.
IGNORED_FILES = {"uv.lock", "pylock.toml"}
IGNORED_DIRECTORIES = {".git", ".venv", "node_modules", "build", "dist"}


def lock_like_files() -> Iterator[Path]:
    for directory, names, files in os.walk(ROOT):
        names[:] = [name for name in names if name not in IGNORED_DIRECTORIES and not name.endswith("_cache")]
        for path in (Path(directory, file) for file in files):
            if path.name not in IGNORED_FILES and any(path.match(pattern) for pattern in LOCK_LIKE):
                yield path


def pins() -> list[Requirement]:
    return [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if line]


def test_no_lock_like_file_holds_an_address() -> None:
    files = list(lock_like_files())
    assert ROOT / "constraints.txt" in files
    assert [path for path in files if "://" in path.read_text()] == []


def test_locks_that_name_a_registry_are_kept_out_of_the_repository() -> None:
    ignored = (ROOT / ".gitignore").read_text().split()
    assert {"uv.lock", "pylock*.toml"} <= set(ignored)


def test_every_constraint_is_one_exact_version_without_hashes() -> None:
    for pin in pins():
        assert [clause.operator for clause in pin.specifier] == ["=="], pin
        assert not pin.extras, f"pip refuses extras in constraints: {pin}"


def test_every_declared_dependency_has_a_constraint_that_it_accepts() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = chain(project["dependencies"], *project["optional-dependencies"].values())
    for requirement in map(Requirement, declared):
        name = canonicalize_name(requirement.name)
        if name == project["name"]:
            continue
        matching = [pin for pin in pins() if canonicalize_name(pin.name) == name]
        assert matching, f"{name} is not in constraints.txt"
        for pin in matching:
            version = next(iter(pin.specifier)).version
            assert requirement.specifier.contains(version, prereleases=True), f"{requirement} against {pin}"
