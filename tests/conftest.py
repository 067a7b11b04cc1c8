"""Fixtures for every test that needs PostgreSQL.

Tests run on the default version.  Those marked `every_version` also run on each other one found here, and
those marked `outer_versions`, which cost much, on the oldest of them,
with `--all-versions`, or with PG_VERSIONS=all (or a list, as in PG_VERSIONS=16,18) in the environment.
`--pooler` puts PgBouncer between the product and the server; see tests/pooler.py.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
from hypothesis import Phase, settings

from tests.pooler import PROGRAM, Pooling, pooled_defaults
from tests.support import Clock, Database, Server, Servers, providers_by_major
from windlass.db.embedded.account import server_account
from windlass.db.embedded.ephemeral import choose_base

settings.register_profile("unshrunk", phases=[Phase.generate])

_VERSIONS = pytest.StashKey[list[int]]()
_REUSING = ("sql", "hostile", "integration", "interleavings")
_OWN_WIRES = ("chaos",)  # they lay proxies and poolers of their own


def pytest_report_header() -> str:
    return f"temporary PostgreSQL servers: data in {choose_base(server_account(), in_memory=True)}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-versions",
        action="store_true",
        help="run the tests marked every_version or outer_versions on the PostgreSQL versions found",
    )
    parser.addoption("--pooler", action="store_true", help="put PgBouncer between the product and the server")
    parser.addoption("--pooler-polls", action="store_true", help="the same, and no worker may listen past it")


def pytest_xdist_auto_num_workers() -> int | None:
    """Half as many again as there are cores: tests of processes spend a good part of their time waiting."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + (cores + 1) // 2


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "pg_version" not in metafunc.fixturenames:
        return
    config = metafunc.config
    versions = config.stash.setdefault(_VERSIONS, []) or _chosen_versions(config)
    config.stash[_VERSIONS] = versions
    if metafunc.definition.get_closest_marker("outer_versions") is not None:
        versions = [*versions[:1], *(v for v in versions[1:] if v == min(versions))]
    elif metafunc.definition.get_closest_marker("every_version") is None:
        versions = versions[:1]
    metafunc.parametrize("pg_version", versions, ids=[f"pg{version}" for version in versions])


def _chosen_versions(config: pytest.Config) -> list[int]:
    found = list(providers_by_major())
    asked = "all" if config.getoption("--all-versions") else os.environ.get("PG_VERSIONS", "")
    if not found:
        raise pytest.UsageError("no PostgreSQL binaries were found: install the extra `dev`")
    if asked == "all":
        return found
    if not asked:
        return found[:1]
    wanted = [int(version) for version in asked.split(",")]
    if missing := set(wanted) - set(found):
        raise pytest.UsageError(f"PG_VERSIONS: no binaries found for {sorted(missing)}, only for {found}")
    return wanted


def _pooling(config: pytest.Config) -> Pooling | None:
    polls = config.getoption("--pooler-polls")
    return "polls" if polls else "listens" if config.getoption("--pooler") else None


def _let_programs_hear() -> None:
    """Programs that tests start hear every signal, also where this run was started by nohup or with `&`.

    What a shell has ignored for us stays ignored in whatever we start; what we handle does not.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_configure(config: pytest.Config) -> None:
    _let_programs_hear()
    if _pooling(config) and PROGRAM is None:
        raise pytest.UsageError("--pooler: there is no pgbouncer in PATH or in /usr/sbin; install PgBouncer")


@pytest.fixture(scope="session")
def servers(pytestconfig: pytest.Config) -> Iterator[Servers]:
    """All servers of this process: a fixture per version would be torn down at each change of version."""
    servers = Servers(_pooling(pytestconfig))
    yield servers
    servers.stop()


@pytest.fixture
def server(servers: Servers, pg_version: int, pytestconfig: pytest.Config) -> Iterator[Server]:
    with pooled_defaults() if _pooling(pytestconfig) else nullcontext():
        yield servers.get(pg_version)


def _is_pooled(request: pytest.FixtureRequest) -> bool:
    return "direct" not in request.keywords and request.path.parent.name not in _OWN_WIRES


@pytest.fixture
def db(server: Server, request: pytest.FixtureRequest) -> Iterator[Database]:
    """A migrated database with nothing in it; a new one where tests leave more behind than rows."""
    reused = request.path.parent.name in _REUSING and "new_database" not in request.keywords
    with server.reused_database() if reused else server.database() as database:
        database.pooled = _is_pooled(request)
        yield database


@pytest.fixture
def empty_db(server: Server, request: pytest.FixtureRequest) -> Iterator[Database]:
    """A database of the test's own with nothing in it, belonging to windlass_owner."""
    with server.empty_database() as database:
        database.pooled = _is_pooled(request)
        yield database


@pytest.fixture
def clock(db: Database) -> Clock:
    """Control over the time that Windlass sees in `db`."""
    return db.clock
