"""Temporary homes whose makers died are removed by a later start; nothing else is."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from tests.embedded.stage import Actor, answers, eventually
from windlass.db.embedded import EmbeddedServer
from windlass.db.embedded.account import server_account
from windlass.db.embedded.ephemeral import make_home, prefix, sweep
from windlass.db.embedded.locks import FileLock


@pytest.fixture(autouse=True)
def temporary(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary directory of the test's own, so that other tests' homes do not come into it."""
    place.chmod(0o777)
    monkeypatch.setattr("windlass.db.embedded.home.tempfile.tempdir", str(place))
    monkeypatch.setattr("windlass.db.embedded.ephemeral.temporary_bases", lambda account: [place])
    monkeypatch.setattr("windlass.db.embedded.ephemeral.memory_base", lambda account: None)
    return place


def test_home_of_a_crash_is_removed_by_the_next_start(temporary: Path) -> None:
    with Actor(ephemeral=True, environ={"TMPDIR": str(temporary)}) as actor:
        left = Path(actor["data_dir"])
        actor.crash_everything()
    assert left.parent == temporary
    assert (left / "pgdata").exists()
    with EmbeddedServer.start(ephemeral=True) as server:
        assert not left.exists()
        assert list(temporary.iterdir()) == [server.data_dir]


def test_home_of_a_start_that_was_killed_is_removed_once_its_initdb_has_ended(temporary: Path) -> None:
    with Actor(ephemeral=True, environ={"TMPDIR": str(temporary)}) as actor:
        eventually(lambda: any(temporary.glob("*/pgdata.new-*/PG_VERSION")), "initdb is at work")
        actor.signal(signal.SIGKILL)
        eventually(lambda: len(sweep(server_account())) == 1, "the home was removed")
        assert list(temporary.iterdir()) == []


def test_home_in_use_is_left_alone(temporary: Path) -> None:
    with Actor(ephemeral=True, environ={"TMPDIR": str(temporary)}) as actor:
        assert Path(actor["data_dir"]).parent == temporary
        old = 1.0
        os.utime(actor["data_dir"], (old, old))
        assert sweep(server_account()) == []
        Path(actor["data_dir"], "server.lock").unlink()  # as if the guardian had gone and the server not yet
        assert sweep(server_account()) == []
        assert answers(actor["url"])


def test_home_being_made_is_left_alone(temporary: Path) -> None:
    home, lock = make_home(server_account())
    assert sweep(server_account()) == []
    lock.drop()
    assert sweep(server_account()) == [home.root]


def test_remains_of_interrupted_removals_are_removed(temporary: Path) -> None:
    empty = Path(tempfile.mkdtemp(prefix=prefix(), dir=temporary))
    marked = Path(tempfile.mkdtemp(prefix=prefix(), dir=temporary))
    (marked / "start.lock").touch()
    (marked / "server.log").touch()
    assert set(sweep(server_account())) == {empty, marked}
    assert list(temporary.iterdir()) == []


def test_what_is_not_ours_is_left_alone(temporary: Path) -> None:
    (temporary / f"{prefix()}file").touch()
    (temporary / f"{prefix()}link").symlink_to("/")
    unmarked = temporary / f"{prefix()}other"
    unmarked.mkdir()
    (unmarked / "precious").touch()
    assert sweep(server_account()) == []
    assert len(list(temporary.iterdir())) == 3


def test_lock_on_a_removed_file_is_noticed(temporary: Path) -> None:
    lock = FileLock(temporary / "lock")
    assert lock.take(wait=False)
    assert lock.is_current()
    lock.path.unlink()
    assert not lock.is_current()
    lock.path.touch()
    assert not lock.is_current()
    lock.drop()
