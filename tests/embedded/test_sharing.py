"""One owner, any number attached; who may stop it, and who must not start another."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.embedded.stage import Actor, all_gone, answers, eventually, read_rows, users, write_row
from windlass.db.embedded import EmbeddedServer
from windlass.db.embedded.postmaster import Answer, ask
from windlass.errors import InvalidInput, Unavailable


@pytest.mark.parametrize("nobody", users())
def test_of_processes_starting_at_once_exactly_one_starts(
    nobody: bool, new_data_dir: Callable[[bool], Path]
) -> None:
    data_dir = new_data_dir(nobody)
    with ExitStack() as stack:
        actors = [stack.enter_context(Actor(nobody=nobody, data_dir=data_dir)) for _ in range(3)]
        assert sorted(actor["owner"] for actor in actors) == [False, False, True]
        assert len({actor["postmaster"] for actor in actors}) == 1
        assert all(answers(actor["url"]) for actor in actors)
        for actor in sorted(actors, key=lambda actor: bool(actor["owner"])):
            assert answers(actor["url"])
            actor.order("stop")
        assert not answers(actors[0]["url"])


def test_of_processes_starting_at_once_after_a_crash_exactly_one_starts(data_dir: Path) -> None:
    with Actor(data_dir=data_dir) as actor:
        write_row(actor["url"], "before")
        actor.crash_everything()
    with ExitStack() as stack:
        actors = [stack.enter_context(Actor(data_dir=data_dir)) for _ in range(2)]
        assert sorted(actor["owner"] for actor in actors) == [False, True]
        assert [read_rows(actor["url"]) for actor in actors] == [["before"], ["before"]]


def test_attached_cannot_stop_and_owner_can_twice(data_dir: Path) -> None:
    server = EmbeddedServer.start(data_dir)
    attached = EmbeddedServer.start(data_dir)
    assert (server.owner, attached.owner) == (True, False)
    assert attached.url() == server.url()
    assert attached.major_version == server.major_version
    attached.stop()
    attached.ensure_running()
    assert answers(server.url())
    pids = [server.postmaster_pid or 0, server.guardian_pid]
    server.stop()
    assert all_gone(*pids)()
    assert not answers(attached.url())
    server.stop()
    assert (data_dir / "pgdata" / "PG_VERSION").exists()


def test_of_those_attached_one_takes_over_when_the_owner_ends(data_dir: Path) -> None:
    with Actor(data_dir=data_dir) as owner:
        write_row(owner["url"], "before")
        with Actor(data_dir=data_dir) as first, Actor(data_dir=data_dir) as second:
            assert (first["owner"], second["owner"]) == (False, False)
            owner.order("stop")
            first.order("ensure_running")
            second.order("ensure_running")
            assert (first["owner"], second["owner"]) == (True, False)
            assert first["url"] == second["url"] == owner["url"]
            assert read_rows(second["url"]) == ["before"]
            owner.order("ensure_running")
            assert owner["postmaster"] == first["postmaster"]
            pids = first.server_pids
            first.order("end")
            assert first.process.wait() == 0
            assert all_gone(*pids)()


def test_one_that_let_go_takes_nothing_over(data_dir: Path) -> None:
    server = EmbeddedServer.start(data_dir)
    attached = EmbeddedServer.start(data_dir)
    attached.stop()
    server.stop()
    attached.ensure_running()
    assert not answers(server.url())


def test_owner_that_ends_normally_stops_its_server(data_dir: Path) -> None:
    with Actor(data_dir=data_dir) as actor:
        pids = actor.server_pids
        actor.order("end")
        assert actor.process.wait() == 0
        assert all_gone(*pids)()


def test_start_while_the_owner_stops_gives_a_server_of_ones_own(data_dir: Path) -> None:
    with Actor(data_dir=data_dir) as actor:
        assert actor["owner"]
        actor.order("end")
        with EmbeddedServer.start(data_dir) as server:
            eventually(lambda: actor.process.poll() is not None, "the first owner ended")
            if not server.owner:  # it came in time to attach, and the server went with its owner
                server = EmbeddedServer.start(data_dir)
            assert server.owner
            assert answers(server.url())
            server.stop()


def test_only_the_server_of_this_very_data_directory_counts(place: Path, data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir) as server:
        state = json.loads((server.data_dir / "state.json").read_text())
        socket_dir = Path(state["socket_dir"])
        assert ask(socket_dir, state["port"], server.data_dir / "pgdata") is Answer.READY
        assert ask(socket_dir, state["port"], place) is Answer.SILENT
        assert ask(place, state["port"], server.data_dir / "pgdata") is Answer.SILENT


def test_state_file_of_another_server_is_not_believed(
    data_dir: Path, used_data_dir: Callable[[bool, str], Path]
) -> None:
    with EmbeddedServer.start(used_data_dir(False, "other")) as other:
        (data_dir / "state.json").write_text((other.data_dir / "state.json").read_text())
        with EmbeddedServer.start(data_dir) as server:
            assert server.owner
            assert server.url() != other.url()


def test_attaching_with_tcp_needs_a_server_with_tcp(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir), pytest.raises(InvalidInput, match="without a TCP port"):
        EmbeddedServer.start(data_dir, tcp=True)


def test_failed_start_says_why_and_can_be_repeated(data_dir: Path) -> None:
    with pytest.raises(Unavailable, match="shared_buffers"):
        EmbeddedServer.start(data_dir, settings={"shared_buffers": "no size"})
    with EmbeddedServer.start(data_dir) as server:
        assert answers(server.url())


def test_failed_ephemeral_start_leaves_nothing(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(place))
    place.chmod(0o777)
    with pytest.raises(Unavailable, match="work_mem"):
        EmbeddedServer.start(ephemeral=True, settings={"work_mem": "no size"})
    assert list(place.iterdir()) == []
