"""Where a server lives: default places, foreign directories, long paths, other versions' data."""

import os
import pwd
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.embedded.stage import Actor, all_gone, answers, eventually, users
from windlass.db.embedded import EmbeddedServer, find_providers
from windlass.db.embedded.account import server_account
from windlass.db.embedded.home import (
    LONGEST_SOCKET_PATH,
    SYSTEM_STATE,
    Home,
    default_data_dir,
    persistent_home,
)
from windlass.errors import InvalidInput

is_root = os.geteuid() == 0
by_user = pytest.mark.parametrize("nobody", users())


def modes(path: Path) -> dict[Path, tuple[int, int]]:
    return {each: (stat.S_IMODE(each.stat().st_mode), each.stat().st_uid) for each in [path, *path.parents]}


def socket_dir_of(url: str) -> Path:
    return Path(parse_qs(urlsplit(url).query)["host"][0])


def test_default_data_dir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert default_data_dir({"WINDLASS_DATA_DIR": "/srv/w", "XDG_STATE_HOME": "/x"}) == Path("/srv/w")
    assert default_data_dir({"XDG_STATE_HOME": "/x"}) == Path("/x/windlass")
    assert default_data_dir({"XDG_STATE_HOME": "not/absolute"}) == Path.home() / ".local/state/windlass"
    assert default_data_dir({}) == Path.home() / ".local/state/windlass"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_data_dir({"XDG_STATE_HOME": "/x"}) == SYSTEM_STATE


@by_user
def test_modes_of_foreign_directories_stay_as_they_are(
    nobody: bool, new_data_dir: Callable[[bool], Path]
) -> None:
    parent = new_data_dir(nobody).parent
    parent.chmod(0o751)
    before = modes(parent)
    with Actor(nobody=nobody, data_dir=parent / "a" / "b") as actor:
        assert answers(actor["url"])
        assert modes(parent) == before
        inside = (parent / "a" / "b").stat()
        assert stat.S_IMODE(inside.st_mode) == (0o711 if is_root and not nobody else 0o700)
        actor.order("stop")
    assert modes(parent) == before


def test_existing_data_directory_keeps_its_mode(data_dir: Path) -> None:
    data_dir.chmod(0o755)
    with EmbeddedServer.start(data_dir) as server:
        assert answers(server.url())
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o755


def test_place_named_by_the_environment(data_dir: Path) -> None:
    with Actor(environ={"WINDLASS_DATA_DIR": str(data_dir)}) as actor:
        assert Path(actor["data_dir"]) == data_dir
        assert answers(actor["url"])


def test_strict_umask_does_not_shut_out_the_server(place: Path) -> None:
    before = os.umask(0o077)
    try:
        with EmbeddedServer.start(place / "a" / "b") as server:
            assert answers(server.url())
    finally:
        os.umask(before)


def test_a_file_where_the_data_should_go(new_data_dir: Callable[[bool], Path]) -> None:
    file = new_data_dir(False).parent / "notes"
    file.write_text("mine")
    for place in (file, file / "data"):
        with pytest.raises(InvalidInput, match=f"{file} is a file"):
            EmbeddedServer.start(place)
    assert file.read_text() == "mine"


@contextmanager
def unprivileged() -> Iterator[None]:
    """Root can enter everything, so root is somebody else for a moment."""
    user = os.geteuid()
    os.seteuid(pwd.getpwnam("nobody").pw_uid if user == 0 else user)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize("name", ["", "data", "data/of/mine"])
def test_a_directory_that_one_may_not_enter_is_told_in_a_sentence(name: str, place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o000)
    with (
        unprivileged(),
        pytest.raises(InvalidInput, match=f"cannot look for {closed}.*: Permission denied; choose another"),
    ):
        persistent_home(closed / name, server_account())
    closed.chmod(0o700)
    assert list(closed.iterdir()) == []


def test_a_name_that_no_file_can_have(place: Path) -> None:
    with pytest.raises(InvalidInput, match="File name too long; choose another data directory"):
        EmbeddedServer.start(place / ("x" * 300))


@by_user
def test_closed_parent(nobody: bool, new_data_dir: Callable[[bool], Path]) -> None:
    """Root's server is somebody else, who is not let into a 0700 directory; one's own server is."""
    parent = new_data_dir(nobody).parent
    parent.chmod(0o700)
    if is_root and not nobody:
        with pytest.raises(InvalidInput, match="cannot enter"):
            EmbeddedServer.start(parent / "data")
        assert list(parent.iterdir()) == []
    else:
        with Actor(nobody=nobody, data_dir=parent / "data") as actor:
            assert answers(actor["url"])
    assert stat.S_IMODE(parent.stat().st_mode) == 0o700


@by_user
def test_closed_temporary_directory(nobody: bool, new_data_dir: Callable[[bool], Path]) -> None:
    closed = new_data_dir(nobody).parent
    closed.chmod(0o700)
    with Actor(nobody=nobody, ephemeral=True, environ={"TMPDIR": str(closed)}) as actor:
        assert answers(actor["url"])
        home = Path(actor["data_dir"])
        assert home.is_relative_to(closed) is (nobody or not is_root)
        actor.order("stop")
        assert not home.exists()
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@by_user
def test_path_that_no_socket_address_can_hold(
    nobody: bool, used_data_dir: Callable[[bool, str], Path]
) -> None:
    data_dir = used_data_dir(nobody, "long/" * 30 + "end")
    with Actor(nobody=nobody, data_dir=data_dir) as actor:
        socket_dir = socket_dir_of(actor["url"])
        assert len(os.fsencode(socket_dir)) < 60
        assert stat.S_IMODE(socket_dir.stat().st_mode) == 0o700
        assert answers(actor["url"])
        actor.crash_everything()
    assert socket_dir.exists()
    with Actor(nobody=nobody, data_dir=data_dir) as actor:
        assert socket_dir_of(actor["url"]) == socket_dir
        assert answers(actor["url"])
        actor.order("stop")
    assert not socket_dir.exists()


def test_longest_path_that_fits_and_the_first_that_does_not() -> None:
    room = LONGEST_SOCKET_PATH - len("/run/.s.PGSQL.65535")
    assert Home(Path("/" + "x" * (room - 1))).socket_dir().parts[1] != "tmp"
    assert Home(Path("/" + "x" * room)).socket_dir().parts[1] == "tmp"


@pytest.mark.parametrize(("name", "is_inside"), [("a \"b' % + é", True), ("a, b", False)])
def test_path_with_odd_characters(
    name: str, is_inside: bool, used_data_dir: Callable[[bool, str], Path]
) -> None:
    """A comma would split a list of hosts, so such a path does not become an address."""
    with EmbeddedServer.start(used_data_dir(False, name)) as server:
        assert socket_dir_of(server.url()).is_relative_to(server.data_dir) is is_inside
        assert answers(server.url())


def test_data_of_another_version_is_refused_untouched(place: Path) -> None:
    pgdata = place / "data" / "pgdata"
    pgdata.mkdir(parents=True)
    (pgdata / "PG_VERSION").write_text("14\n")
    before = pgdata.stat().st_mtime_ns
    with pytest.raises(InvalidInput, match=r"made by PostgreSQL 14.*WINDLASS_PG_BIN.*nothing was changed"):
        EmbeddedServer.start(place / "data")
    assert [path.name for path in pgdata.iterdir()] == ["PG_VERSION"]
    assert pgdata.stat().st_mtime_ns == before


def test_data_chooses_the_binaries_that_made_it(place: Path) -> None:
    oldest = min(find_providers(), key=lambda provider: provider.major)
    newest = max(find_providers(), key=lambda provider: provider.major)
    with EmbeddedServer.start(place / "data", bin_dir=oldest.bin_dir):
        pass
    with EmbeddedServer.start(place / "data") as server:
        assert server.major_version == oldest.major
    if newest.major != oldest.major:
        with pytest.raises(InvalidInput, match=f"made by PostgreSQL {oldest.major}"):
            EmbeddedServer.start(place / "data", bin_dir=newest.bin_dir)


def test_cluster_itself_is_not_a_data_dir(place: Path) -> None:
    (place / "PG_VERSION").write_text("18\n")
    with pytest.raises(InvalidInput, match="is itself a PostgreSQL data directory"):
        EmbeddedServer.start(place)


@pytest.mark.skipif(not is_root, reason="only root can make a directory of another user's")
def test_root_does_not_start_a_server_in_a_home_of_another_user(new_data_dir: Callable[[bool], Path]) -> None:
    with pytest.raises(InvalidInput, match="belongs to another user"):
        EmbeddedServer.start(new_data_dir(True).parent)


@pytest.mark.skipif(not is_root, reason="only root can make a directory of another user's")
def test_user_cannot_take_the_server_of_root(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir) as server:
        with Actor(nobody=True, data_dir=data_dir) as actor:
            actor.process.wait()
            assert actor.process.stderr is not None
            assert "not a directory that this user can write" in actor.process.stderr.read()
        assert answers(server.url())
        pid = server.postmaster_pid or 0
    eventually(all_gone(pid), "stopped")
