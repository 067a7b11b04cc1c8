"""docs/postgresql.md, command by command, on a server that never heard of Windlass."""

import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.integration.command import APPLICATION, SOURCE, Command, eventually
from tests.support import providers_by_major
from windlass.db.embedded import EmbeddedServer
from windlass.errors import Unavailable

pytestmark = pytest.mark.every_version

PAGE = Path(__file__).parents[2] / "docs" / "postgresql.md"
PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
GROUPS = ("owner", "engine", "producer", "worker", "operator", "reader")


@dataclass
class Site:
    """An administrator's shell before the database `shop`."""

    server: EmbeddedServer
    place: Path

    def url(self, role: str) -> str:
        return self.server.url(role, "shop")

    def run(self, *blocks: str, **variables: str) -> str:
        """The blocks in one shell, which ends at the first command that fails."""
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("WINDLASS_", "PG"))
        }
        urls = {f"{name.upper()}_URL": self.url(f"shop_{name}") for name in ("admin", "app", "web", "ops")}
        told = {**urls, "ACME_URL": self.url("acme_app"), "PATH": f"{self.place}:{environment['PATH']}"}
        done = subprocess.run(
            ["/bin/sh", "-eu", "-c", "\n".join(blocks)],
            env={**environment, **told, **variables},
            cwd=self.place,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout


def blocks(section: str, language: str = "sh") -> list[str]:
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found, section
    return found


def make_programs(place: Path, server: EmbeddedServer) -> None:
    psql = shutil.which("psql", path=str(server.bin_dir))
    if psql is None:
        pytest.skip(f"there is no psql in {server.bin_dir}")
    for name, command in (
        ("psql", f'"{psql}" -X -q -v ON_ERROR_STOP=1 "$@"'),
        ("windlass", f'PYTHONPATH="{SOURCE}" "{sys.executable}" -m windlass "$@"'),
    ):
        (place / name).write_text(f"#!/bin/sh\nexec env {command}\n")
        (place / name).chmod(0o755)


@pytest.fixture
def site(pg_version: int, tmp_path: Path) -> Iterator[Site]:
    """A server with an administrator who is no superuser, and none of Windlass's roles."""
    bin_dir = providers_by_major()[pg_version].bin_dir
    try:
        server = EmbeddedServer.start(ephemeral=True, in_memory=True, bin_dir=bin_dir)
    except Unavailable as error:
        pytest.fail(str(error))
    with server:
        make_programs(tmp_path, server)
        with psycopg.connect(server.url("windlass_superuser", "postgres"), autocommit=True) as admin:
            admin.execute("drop database windlass with (force)")
            for role in ("app", *GROUPS):
                admin.execute(f"drop role windlass_{role}".encode())
            admin.execute("create role shop_admin login createrole")
            admin.execute("create database shop owner shop_admin")
        yield Site(server, tmp_path)


def test_the_page_from_its_first_command_to_its_last(site: Site) -> None:
    said = site.run(*blocks("1. Install"))
    assert "installed the functions of this release" in said
    assert site.run(*blocks("2. Logins")).count("\nok ") > 10

    said = site.run(*blocks("3. Tenants"))
    assert said.count("greet") == 1
    assert "acme_app acts for acme only" in said

    target = conninfo_to_dict(site.url("shop_app"))
    hosts = f"host={site.place}/no-such-server,{target['host']}&port=5432,{target['port']}"
    said = site.run(*blocks("5. Standbys and failover"), BOTH_URL=f"postgresql://shop_app@/shop?{hosts}")
    assert "fail" not in said

    close_advisory_locks(site)
    assert "Nothing to do" in site.run('windlass migrate --database-url "$ADMIN_URL"')
    work_with_a_login_for_each_duty(site)
    if PGBOUNCER is not None:
        work_behind_the_pooler(site, PGBOUNCER)


def close_advisory_locks(site: Site) -> None:
    """The locks that enqueues share; from then on no tenant can take them, and all goes on as before."""
    take = b"select pg_advisory_xact_lock(20053, n) from generate_series(0, 255) as n"
    superuser_url = site.server.url("windlass_superuser", "shop")
    with psycopg.connect(site.url("acme_app"), autocommit=True) as tenant:
        tenant.execute(take)
        site.run(*blocks("6. Tenants that log in themselves"), SUPERUSER_URL=superuser_url)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            tenant.execute(take)
        open_to_all = """
            select p.oid::regprocedure::text from pg_proc as p
            where p.proname like '%advisory%lock%' and p.proname not like '%unlock%'
              and has_function_privilege('acme_app', p.oid, 'execute')"""
        assert tenant.execute(open_to_all).fetchall() == []
    with psycopg.connect(superuser_url, autocommit=True) as superuser:
        superuser.execute(
            "update windlass_data.schema_version set sha256 = repeat('0', 64) where name = 'code'"
        )
    assert "installed the functions" in site.run('windlass migrate --database-url "$ADMIN_URL"')
    site.run('windlass doctor --database-url "$APP_URL"')
    site.run("""windlass enqueue greet '{"name": "Eve"}' --database-url "$ACME_URL" """)
    site.run('windlass limits set --queue default --depth 1000 --database-url "$OPS_URL"')
    site.run("""windlass enqueue greet '{"name": "Eve"}' --database-url "$ACME_URL" """)


def work_with_a_login_for_each_duty(site: Site) -> None:
    (site.place / "shop.py").write_text(APPLICATION)
    with Command(site.place, site.url("shop_worker")).running("worker", "shop:app"):
        job_id = site.run("""windlass enqueue add '{"a": 1}' --database-url "$WEB_URL" """).strip()
        waited = f'windlass jobs wait {job_id} --timeout 60 --database-url "$OPS_URL"'
        assert site.run(waited) == "2\n"


def work_behind_the_pooler(site: Site, program: str) -> None:
    """With the page's own configuration, but for the addresses and the passwords."""
    (config,) = blocks("4. Behind PgBouncer", "ini")
    target = conninfo_to_dict(site.url("shop_app"))
    place = site.place / "pooler"
    place.mkdir()
    for pattern, text in (
        (r"host=\S+ port=\S+", f"host={target['host']} port={target['port']}"),
        (r"listen_addr = .*", f"listen_addr =\nunix_socket_dir = {place}"),
        (r"auth_type = .*", "auth_type = trust"),
        (r"auth_file = .*", f"auth_file = {place}/users"),
    ):
        config, count = re.subn(pattern, text, config)
        assert count == 1, pattern
    (place / "pgbouncer.ini").write_text(config)
    (place / "users").write_text('"shop_app" ""\n')
    command = [program, str(place / "pgbouncer.ini")]
    if os.geteuid() == 0:  # it refuses to be root, and the server's socket belongs to the server's account
        owner = Path(str(target["host"])).stat().st_uid
        command[1:1] = ["-u", pwd.getpwuid(owner).pw_name]
        open_to(place, owner)
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    pooled = f"postgresql://shop_app@/shop?host={place}&port=6432"
    try:
        eventually(lambda: process.poll() is not None or (place / ".s.PGSQL.6432").exists(), "it listens")
        said = site.run(*blocks("4. Behind PgBouncer"), POOLED_URL=pooled)
        assert "A transaction pooler, and WINDLASS_POOLER says so." in said
    finally:
        process.terminate()
        process.wait()


def open_to(place: Path, owner: int) -> None:
    for path in (place, *place.iterdir()):
        os.chown(path, owner, -1)
    for parent in place.parents:
        if parent.stat().st_mode & 0o001 == 0:
            parent.chmod(parent.stat().st_mode | 0o011)  # pytest's own directories, closed to others
