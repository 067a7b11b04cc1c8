"""Data of temporary servers in memory: where there is room, and gone with whoever needed it."""

import logging
import shutil
import signal
from pathlib import Path

import pytest

from tests.embedded.stage import Actor, all_gone, answers, eventually, users
from windlass.db.embedded import EmbeddedServer, ephemeral, home
from windlass.db.embedded.account import server_account
from windlass.errors import InvalidInput
from windlass.testing import TemporaryServer

MEMORY = home.memory_base(server_account())

needs_memory = pytest.mark.skipif(
    MEMORY is None or home.memory_room() < home.MEMORY_ROOM, reason="there is no memory to spare"
)


@pytest.fixture
def pretended(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is taken for one in memory, apart from those of other tests."""
    (place / "memory").mkdir(mode=0o777)
    (place / "memory").chmod(0o777)
    monkeypatch.setattr(home, "MEMORY", place / "memory")
    return place / "memory"


@needs_memory
@pytest.mark.parametrize("nobody", users())
def test_killed_python_leaves_nothing_in_memory(nobody: bool) -> None:
    with Actor(nobody=nobody, ephemeral=True, in_memory=True) as actor:
        data = Path(actor["data_dir"])
        assert data.parent == MEMORY
        assert answers(actor["url"])
        actor.signal(signal.SIGKILL)
        eventually(all_gone(*actor.server_pids), "server and guardian ended")
        assert not data.exists()


def test_what_was_left_in_memory_is_removed_by_the_next_start_of_any_server(
    pretended: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ephemeral, "memory_room", lambda: home.MEMORY_ROOM)
    left, lock = ephemeral.make_home(server_account(), in_memory=True)
    left.pgdata.mkdir()
    lock.drop()  # as the kernel does when its holder is killed
    assert left.root.parent == pretended
    with EmbeddedServer.start(data_dir):
        assert list(pretended.iterdir()) == []


def test_home_in_memory_while_there_is_room(pretended: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ephemeral, "memory_room", lambda: home.MEMORY_ROOM)
    with TemporaryServer() as server:
        assert server.data_dir.parent == pretended
        with server.database() as database:
            assert answers(database.url)
    assert list(pretended.iterdir()) == []
    assert ephemeral.choose_base(server_account(), in_memory=False) != pretended


def test_too_little_room_means_the_disk_and_is_said(
    pretended: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ephemeral, "memory_room", lambda: home.MEMORY_ROOM - 1)
    caplog.set_level(logging.INFO)
    chosen = ephemeral.choose_base(server_account(), in_memory=True)
    assert chosen != pretended
    assert f"goes to disk, in {chosen}: {pretended} has too little room" in caplog.text


def test_without_such_a_directory_it_is_the_disk(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(home, "MEMORY", place / "absent")
    caplog.set_level(logging.INFO)
    assert ephemeral.choose_base(server_account(), in_memory=True).is_dir()
    assert "there is no /dev/shm to use" in caplog.text
    assert ephemeral.sweep(server_account()) == []


def test_room_is_what_the_directory_has_left(pretended: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(pretended)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=64 * 1024**2))
    assert home.memory_room() in (0, 64 * 1024**2)  # nothing where the machine does not tell


def test_data_that_is_to_stay_cannot_be_in_memory(place: Path) -> None:
    with pytest.raises(InvalidInput, match="only an ephemeral server"):
        EmbeddedServer.start(place / "data", in_memory=True)
