"""What a started server is like: roles, settings, addresses, who gets in."""

import pwd
import stat
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import psycopg
import pytest

from tests.embedded.stage import answers, eventually
from windlass.db.embedded import EmbeddedServer, find_providers
from windlass.errors import InvalidInput, Unavailable

GROUPS = {"windlass_producer", "windlass_worker", "windlass_operator", "windlass_reader"}
MAJORS = {provider.major: provider for provider in reversed(find_providers())}


def query(server: EmbeddedServer, text: str, role: str = "windlass_app") -> list[tuple[object, ...]]:
    with psycopg.connect(server.url(role)) as connection:
        return connection.execute(text.encode()).fetchall()


def test_product_roles_are_not_superusers(shared: EmbeddedServer) -> None:
    rows = query(
        shared,
        "select rolname, rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication,"
        " rolcanlogin from pg_roles where rolname like 'windlass%'",
    )
    powers = {str(name): (powerful, login) for name, powerful, login in rows}
    assert powers.pop("windlass_superuser") == (True, True)
    assert powers.pop("windlass_owner") == (False, True)
    assert powers.pop("windlass_app") == (False, True)
    assert powers == dict.fromkeys([*GROUPS, "windlass_engine"], (False, False))


def test_app_is_a_member_of_the_four_roles_and_of_no_other(shared: EmbeddedServer) -> None:
    rows = query(shared, "select rolname from pg_roles where pg_has_role('windlass_app', oid, 'member')")
    assert {name for (name,) in rows} == GROUPS | {"windlass_app"}


def test_database_belongs_to_the_owner_and_is_closed_to_the_public(shared: EmbeddedServer) -> None:
    with psycopg.connect(shared.url("windlass_superuser", "postgres"), autocommit=True) as connection:
        connection.execute("create role outsider login")
        owner = connection.execute(
            "select pg_get_userbyid(datdba) from pg_database where datname = 'windlass'"
        ).fetchone()
    assert owner == ("windlass_owner",)
    for database in ("windlass", "postgres", "template1"):
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            psycopg.connect(shared.url("outsider", database))


def test_without_a_name_of_its_user_no_data_is_made_and_what_is_there_is_served(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container whose user id is in no passwd file."""

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(Unavailable, match="has no entry in /etc/passwd") as told:
        EmbeddedServer.start(data_dir.with_name("new"))
    assert told.value.lasting
    with EmbeddedServer.start(data_dir) as server:
        assert query(server, "select current_user") == [("windlass_app",)]


def test_second_start_keeps_roles_and_database(data_dir: Path) -> None:
    for _ in range(2):
        with EmbeddedServer.start(data_dir) as server:
            assert query(server, "select current_user, current_database()") == [("windlass_app", "windlass")]


async def test_urls_serve_asyncpg_too(shared: EmbeddedServer) -> None:
    for url in (shared.url(), shared.tcp_url()):
        connection = await asyncpg.connect(url)
        assert await connection.fetchval("select current_user") == "windlass_app"
        await connection.close()


def test_tcp_is_loopback_with_passwords_only(shared: EmbeddedServer) -> None:
    url = shared.tcp_url()
    assert urlsplit(url).hostname == "127.0.0.1"
    assert query(shared, "show listen_addresses") == [("127.0.0.1",)]
    assert answers(url)
    assert answers(shared.tcp_url("windlass_owner"))
    password = str(urlsplit(url).password)
    assert len(password) > 30
    for wrong in (url.replace(f":{password}@", "@"), url.replace(password, "wrong")):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(wrong)
    with pytest.raises(psycopg.OperationalError, match="pg_hba"):
        psycopg.connect(url.replace("windlass_app", "windlass_superuser"))
    with pytest.raises(InvalidInput, match="no generated password"):
        shared.tcp_url("windlass_superuser")


def test_password_file_is_private_and_serves_libpq(shared: EmbeddedServer) -> None:
    path = shared.data_dir / "pgpass"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    address = urlsplit(shared.tcp_url())
    plain = f"host=127.0.0.1 port={address.port} user=windlass_app dbname=windlass passfile={path}"
    assert answers(plain)
    assert str(address.password) not in shared.log_path.read_text()


def test_socket_directory_and_data_are_private(shared: EmbeddedServer) -> None:
    socket_dir = Path(parse_qs(urlsplit(shared.url()).query)["host"][0])
    for path in (socket_dir, shared.data_dir / "pgdata"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE(shared.log_path.stat().st_mode) == 0o600


def test_without_tcp_there_is_no_port_at_all(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir) as server:
        assert query(server, "show listen_addresses") == [("",)]
        with pytest.raises(InvalidInput, match="tcp=True"):
            server.tcp_url()
        durable = "select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'jit')"
        assert set(query(server, durable)) == {("fsync", "on"), ("full_page_writes", "on"), ("jit", "off")}
        limits = "select name, setting from pg_settings where name in ('max_connections', 'data_checksums')"
        assert set(query(server, limits)) == {("max_connections", "200"), ("data_checksums", "on")}


def test_tcp_port_and_passwords_outlast_a_restart(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir, tcp=True) as server:
        url = server.tcp_url()
    with EmbeddedServer.start(data_dir, tcp=True) as server:
        assert server.tcp_url() == url
        assert answers(url)


def test_ephemeral_server_is_not_durable_and_takes_settings() -> None:
    with EmbeddedServer.start(
        ephemeral=True, settings={"work_mem": "7MB", "application_name": "o'\\x"}
    ) as server:
        wanted = ("fsync", "synchronous_commit", "full_page_writes", "work_mem")
        assert [query(server, f"show {name}") for name in wanted] == [[("off",)]] * 3 + [[("7MB",)]]
        with psycopg.connect(server.url(), application_name=None) as connection:
            assert connection.execute(
                "select reset_val from pg_settings where name = 'application_name'"
            ).fetchone()
    assert not server.data_dir.exists()


@pytest.mark.parametrize("name", ["port", "LISTEN_addresses", "hba_file", "work mem", "x'y"])
def test_settings_of_the_supervisor_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="server setting"):
        EmbeddedServer.start(ephemeral=True, settings={name: "1"})


def test_ephemeral_has_no_data_dir(place: Path) -> None:
    with pytest.raises(InvalidInput, match="ephemeral"):
        EmbeddedServer.start(place, ephemeral=True)


def test_variables_of_libpq_do_not_bend_the_supervisor(monkeypatch: pytest.MonkeyPatch) -> None:
    junk = {
        "PGOPTIONS": "-c nonsense=1",
        "PGDATA": "/nowhere",
        "PGPORT": "1",
        "PGUSER": "x",
        "PGDATABASE": "x",
    }
    for name, value in {**junk, "PGSSLMODE": "require", "PGTARGETSESSIONATTRS": "standby"}.items():
        monkeypatch.setenv(name, value)
    server = EmbeddedServer.start(ephemeral=True)
    monkeypatch.undo()
    assert answers(server.url())
    server.stop()


@pytest.mark.parametrize("major", sorted(MAJORS))
def test_each_version_found_here_runs(major: int) -> None:
    with EmbeddedServer.start(ephemeral=True, bin_dir=MAJORS[major].bin_dir) as server:
        assert server.major_version == major
        number = query(server, "show server_version_num")[0][0]
        assert int(str(number)) // 10000 == major


def test_several_ephemeral_servers_at_once_are_strangers() -> None:
    started: list[EmbeddedServer] = []
    threads = [
        threading.Thread(target=lambda: started.append(EmbeddedServer.start(ephemeral=True)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({server.data_dir for server in started}) == 2
    assert all(server.owner and answers(server.url()) for server in started)
    for server in started:
        server.stop()


def test_log_is_kept_within_a_limit(monkeypatch: pytest.MonkeyPatch, data_dir: Path) -> None:
    monkeypatch.setattr("windlass.db.embedded.launch.LOG_LIMIT", 20_000)
    with EmbeddedServer.start(data_dir) as server, psycopg.connect(server.url()) as connection:
        connection.autocommit = True
        older = server.log_path.with_name("server.log.1")

        def complain() -> bool:
            with pytest.raises(psycopg.errors.UndefinedTable):
                connection.execute(b"select 1 from " + b"x" * 60)
            return older.exists()

        eventually(complain, "the log was turned over")
        eventually(lambda: server.log_path.stat().st_size < 20_000, "the log starts again")
        assert answers(server.url())
