"""The roles and the database of a new server; at each later start they are only checked.

The product never works as the superuser: row-level security would silently not apply to it.
"""

import secrets
from importlib import resources
from pathlib import Path

import psycopg
from psycopg import sql

from windlass.db.embedded.home import Home, State
from windlass.db.embedded.postmaster import connect
from windlass.errors import Unavailable

DATABASE = "windlass"
OWNER = "windlass_owner"
APP = "windlass_app"
APP_ROLES = ("windlass_producer", "windlass_worker", "windlass_operator", "windlass_reader")

Connection = psycopg.Connection[tuple[object, ...]]


def bootstrap(home: Home, state: State) -> None:
    """Idempotent, and safe to be killed at any point: the next start goes on from there."""
    try:
        with connect(Path(state.socket_dir), state.port) as connection:
            _make_roles(connection)
            _make_database(connection)
            if state.tcp:
                _set_passwords(connection, home, state.port)
    except psycopg.Error as error:
        raise Unavailable(f"the server in {home.root} could not be given its roles: {error}") from error


def read_password(home: Home, role: str) -> str | None:
    """The TCP password of a role, from the file that libpq can use as well."""
    try:
        lines = home.passwords.read_text().splitlines()
    except OSError:
        return None
    entries = [line.split(":") for line in lines]
    return next((entry[4] for entry in entries if len(entry) == 5 and entry[3] == role), None)


def _make_roles(connection: Connection) -> None:
    text = resources.files("windlass").joinpath("sql", "roles.sql").read_bytes()
    connection.execute(text)
    connection.execute(sql.SQL("alter role {} login").format(sql.Identifier(OWNER)))
    if connection.execute("select from pg_catalog.pg_roles where rolname = %s", [APP]).fetchone() is None:
        connection.execute(sql.SQL("create role {} login").format(sql.Identifier(APP)))
    for role in APP_ROLES:
        member = connection.execute("select pg_catalog.pg_has_role(%s, %s, 'member')", [APP, role]).fetchone()
        if member != (True,):
            connection.execute(sql.SQL("grant {} to {}").format(sql.Identifier(role), sql.Identifier(APP)))


def _make_database(connection: Connection) -> None:
    if (
        connection.execute("select from pg_catalog.pg_database where datname = %s", [DATABASE]).fetchone()
        is None
    ):
        make = sql.SQL("create database {} owner {}")
        connection.execute(make.format(sql.Identifier(DATABASE), sql.Identifier(OWNER)))
    # A role that a team adds later must be let in by name; the other databases are the supervisor's.
    for name in (DATABASE, "postgres", "template1"):
        connection.execute(sql.SQL("revoke all on database {} from public").format(sql.Identifier(name)))
    grant = sql.SQL("grant connect, temporary on database {} to {}")
    for role in APP_ROLES:
        connection.execute(grant.format(sql.Identifier(DATABASE), sql.Identifier(role)))


def _set_passwords(connection: Connection, home: Home, port: int) -> None:
    """The server is sent verifiers only, so no password can turn up in its log."""
    lines = []
    for role in (OWNER, APP):
        password = read_password(home, role) or secrets.token_urlsafe(32)
        lines.append(f"127.0.0.1:{port}:*:{role}:{password}")
        verifier = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
        statement = sql.SQL("alter role {} password {}")
        connection.execute(statement.format(sql.Identifier(role), sql.Literal(verifier.decode())))
    new = home.passwords.with_name("pgpass.new")
    new.touch(mode=0o600)
    new.write_text("\n".join(lines) + "\n")
    new.replace(home.passwords)
