"""Places for servers: pytest's own temporary directories are closed to the account that root lends."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from windlass.db.embedded import EmbeddedServer
from windlass.db.embedded.account import server_account
from windlass.db.embedded.home import MEMORY, memory_base, memory_room

ENOUGH = 2 * 1024**3


@pytest.fixture(scope="module", autouse=True)
def _quick_temporary_directory() -> Iterator[None]:
    """Clusters by the dozen are made faster in memory, where there is enough of it."""
    if memory_base(server_account()) is None or memory_room() < ENOUGH:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(MEMORY))
        patch.setattr(tempfile, "tempdir", str(MEMORY))
        yield


def open_directory() -> Path:
    path = Path(tempfile.mkdtemp(prefix="windlass-test-"))
    path.chmod(0o755)
    return path


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody may enter."""
    path = open_directory()
    yield path
    shutil.rmtree(path)


@pytest.fixture
def new_data_dir(place: Path) -> Callable[[bool], Path]:
    """A data directory that does not exist yet, in a directory of this user's or of nobody's."""

    def make(nobody: bool) -> Path:
        parent = place / "parent"
        parent.mkdir(exist_ok=True)
        if nobody:
            _give_to_nobody(parent)
        return parent / "data"

    return make


@pytest.fixture(scope="session")
def made_cluster() -> Iterator[Path]:
    """A data directory that was in use before; copying its cluster is faster than making one."""
    path = open_directory()
    with EmbeddedServer.start(path / "data"):
        pass
    yield path / "data" / "pgdata"
    shutil.rmtree(path)


@pytest.fixture
def used_data_dir(new_data_dir: Callable[[bool], Path], made_cluster: Path) -> Callable[[bool, str], Path]:
    """A data directory with a cluster in it that was stopped in order."""

    def make(nobody: bool = False, name: str = "data") -> Path:
        parent = new_data_dir(nobody).parent
        home = parent / name
        home.mkdir(parents=True)
        subprocess.run(["cp", "-a", made_cluster, home], check=True)
        if nobody:
            _give_to_nobody(parent)
        return home

    return make


@pytest.fixture
def data_dir(used_data_dir: Callable[[], Path]) -> Path:
    return used_data_dir()


@pytest.fixture(scope="module")
def shared() -> Iterator[EmbeddedServer]:
    """One ephemeral server with a TCP port, for tests that only look."""
    with EmbeddedServer.start(ephemeral=True, tcp=True) as server:
        yield server


def _give_to_nobody(path: Path) -> None:
    entry = pwd.getpwnam("nobody")
    for each in [path, *path.rglob("*")]:
        os.chown(each, entry.pw_uid, entry.pw_gid, follow_symlinks=False)
