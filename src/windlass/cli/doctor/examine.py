"""The whole examination, one finding after the other; a check that cannot be made is a finding too."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from windlass.cli.doctor import probes
from windlass.cli.doctor.finding import Finding, fail, in_words, ok, warn
from windlass.cli.doctor.fleet import check_kinds, check_nodes
from windlass.cli.doctor.standing import check_standing
from windlass.cli.migrate import compare_schema
from windlass.cli.text import span
from windlass.client import SyncClient, database_url
from windlass.db.connect import connect
from windlass.errors import Forbidden, WindlassError
from windlass.settings import Settings, masked_url

__all__ = ["examine"]

PATIENCE_SECONDS = 5.0
_HOW_TO_CONNECT = (
    "Check WINDLASS_DATABASE_URL, and that the server runs; `windlass up` starts an embedded one."
)


def examine(settings: Settings) -> Iterator[Finding]:
    """What is found about the installation that the settings lead to."""
    try:
        url = database_url(settings)
        started = time.monotonic()
        connection = connect(url, pooler=settings.pooler, application_name=probes.APPLICATION)
    except WindlassError as error:
        yield fail(
            "connection",
            f"There is no connection to the database: {in_words(error)}",
            error.details.get("hint") or _HOW_TO_CONNECT,
            code=error.code,
        )
        return
    with connection:
        taken = time.monotonic() - started
        yield ok("connection", f"Connected to {masked_url(url)} in {span(taken)}.", seconds=round(taken, 4))
        yield from _examine(connection, settings, url)


def _examine(connection: Any, settings: Settings, url: str) -> Iterator[Finding]:
    yield _made("server", lambda: probes.check_server(connection))
    schema = _made("schema", lambda: _schema(connection))
    yield schema
    yield _made("role", lambda: probes.check_role(connection))
    if schema.level == "ok":
        yield _made("isolation", lambda: probes.check_isolation(connection))
    yield _made("pooler", lambda: probes.check_pooler(connection, settings, url))
    yield _made("clock", lambda: probes.check_clock(connection))
    yield _made("listener", lambda: probes.check_listener(settings, url))
    if schema.level == "ok":
        yield from _standing(settings)


def _made(check: str, make: Callable[[], Finding]) -> Finding:
    try:
        return make()
    except WindlassError as error:
        return fail(
            check,
            f"The check failed: {in_words(error)}",
            "See the connection and the role above.",
            code=error.code,
        )


def _schema(connection: Any) -> Finding:
    try:
        compare_schema(connection)
    except Forbidden as error:
        return fail("schema", in_words(error), "Grant the role what it needs.")
    except WindlassError as error:
        # A schema that is newer, or of another build, is not mended by migrating: the error says how.
        mends = "windlass migrate" in error.message
        advice = "Run `windlass migrate` as the owner of the schema." if mends else None
        return fail("schema", in_words(error), advice, code=error.code)
    return ok("schema", "Tables and functions are those of this release.")


def _standing(settings: Settings) -> Iterator[Finding]:
    try:
        with SyncClient(settings, patience=PATIENCE_SECONDS, pool_size=1) as client:
            health, nodes, unserved = client.health(), client.list_nodes(), client.list_unserved()
    except WindlassError as error:
        yield warn(
            "tables",
            f"How the tables stand could not be read: {in_words(error)}",
            "Run the doctor as a login in windlass_operator or windlass_reader.",
            code=error.code,
        )
        return
    yield from check_standing(health)
    yield check_nodes(nodes)
    yield check_kinds(unserved, nodes)
