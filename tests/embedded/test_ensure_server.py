"""A database that was named is used as it is; only without one is a server started."""

from pathlib import Path

import pytest

from tests.embedded.stage import answers, is_gone
from windlass.db.embedded import EmbeddedServer, ensure_server
from windlass.errors import InvalidInput, Unavailable

URL = "postgresql://app@db.example/windlass"


@pytest.fixture
def no_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a server was started")

    monkeypatch.setattr(EmbeddedServer, "start", refuse)


@pytest.mark.usefixtures("no_start")
def test_named_database_never_starts_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_DATABASE_URL", URL)
    with ensure_server(ephemeral=True) as database:
        assert (database.app_url, database.owner_url, database.server) == (URL, URL, None)
    with ensure_server("host=other") as database:
        assert (database.app_url, database.owner_url, database.server) == ("host=other", "host=other", None)


@pytest.mark.usefixtures("no_start")
def test_empty_url_is_an_error_and_not_a_wish_for_a_server() -> None:
    with pytest.raises(InvalidInput, match="empty"):
        ensure_server(" ", environ={"WINDLASS_DATABASE_URL": URL})


def test_without_a_name_the_embedded_server_is_started_and_closed(place: Path) -> None:
    with ensure_server(environ={"WINDLASS_DATABASE_URL": ""}, data_dir=place / "data") as database:
        assert database.server is not None
        pid = database.server.postmaster_pid
        assert answers(database.app_url)
        assert answers(database.owner_url)
        with ensure_server(environ={}, data_dir=place / "data") as second:
            assert second.server is not None
            assert not second.server.owner
        assert answers(database.app_url)
    assert pid is not None
    assert is_gone(pid)


def test_other_systems_are_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windlass.db.embedded.server.os.name", "nt")
    with pytest.raises(Unavailable, match="needs Linux or macOS"):
        ensure_server(environ={}, ephemeral=True)
