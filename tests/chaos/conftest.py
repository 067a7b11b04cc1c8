"""Worker processes for a test, on the shared server or on one that may be broken, and nodes of a cluster."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.cluster_fleet import NAMES, ClusterFleet, shared_fleet
from tests.chaos.fleet import Fleet, fleet
from tests.support import Database, Servers
from windlass.db.embedded import EmbeddedServer
from windlass.db.migrate import migrate


@pytest.fixture
def crew(db: Database, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(db.url(), db.url("superuser"), tmp_path) as workers:
        yield workers


@pytest.fixture
def own_server() -> Iterator[EmbeddedServer]:
    """A server of the test's own, to be killed; what it has committed must outlive its processes."""
    with EmbeddedServer.start(ephemeral=True, settings={"synchronous_commit": "on"}) as server:
        migrate(server.url("windlass_owner"))
        yield server


@pytest.fixture
def lone_crew(own_server: EmbeddedServer, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(own_server.url(), own_server.url("windlass_superuser"), tmp_path) as workers:
        yield workers


@pytest.fixture(scope="module")
def nodes(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterFleet]:
    with shared_fleet(servers, tmp_path_factory.mktemp("cluster")) as nodes:
        yield nodes


@pytest.fixture(name="fleet")
def three_nodes(nodes: ClusterFleet) -> ClusterFleet:
    """Those of the module, all of them alive, one of them leading."""
    nodes.revive(*NAMES)
    nodes.leader()
    return nodes
