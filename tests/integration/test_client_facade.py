"""What a program sees first: the names of the package, and where a client finds its database."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import windlass
from tests.integration.shop import Shop
from tests.pooler import environment_for
from windlass import InvalidInput, Unavailable, Windlass
from windlass.db.embedded import EmbeddedServer
from windlass.db.embedded.bootstrap import OWNER
from windlass.db.migrate import migrate
from windlass.settings import Settings

FORK = """
import os, sys
from windlass import Windlass
app = Windlass(sys.argv[1])
app.sync.enqueue_job("parent")
child = os.fork()
if not child:
    app.sync.enqueue_job("child")
    app.close_sync()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
app.sync.enqueue_job("parent")
print(sorted(job.kind for job in app.sync.iterate_jobs()))
"""


def test_the_facade_is_sorted_and_complete() -> None:
    assert windlass.__all__ == sorted(windlass.__all__)
    assert all(hasattr(windlass, name) for name in windlass.__all__)


def test_importing_brings_no_stack_along() -> None:
    code = (
        "import sys, windlass; print(sorted({'asyncpg', 'django', 'sqlalchemy', 'typer'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_making_an_application_reads_and_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_DATABASE_URL", "not a url")
    app = Windlass()
    with pytest.raises(InvalidInput, match="WINDLASS_DATABASE_URL"):
        _ = app.client
    monkeypatch.setenv("WINDLASS_DATABASE_URL", "postgresql://somebody@/somewhere")
    assert app.database_url == "postgresql://somebody@/somewhere"


def test_a_url_or_settings() -> None:
    with pytest.raises(InvalidInput, match="either a database URL or settings"):
        Windlass("postgresql://x@/y", settings=Settings())


def test_a_forked_child_opens_connections_of_its_own(shop: Shop) -> None:
    # From 3.12 on Python itself warns of forking where threads run, as a pool's do.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, shop.db.url()]
    environment = {**os.environ, **environment_for(shop.db.url())}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "['child', 'parent', 'parent']", done.stderr


def test_a_client_that_nobody_closes_ends_in_silence(shop: Shop) -> None:
    code = "import sys, windlass; windlass.Windlass(sys.argv[1]).sync.enqueue_job('a')"
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", code, shop.db.url()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="windlass-test-") as path:
        Path(path).chmod(0o755)  # the server's account must pass through
        yield Path(path) / "data"


def test_without_a_url_a_running_embedded_server_is_found(data_dir: Path) -> None:
    app = Windlass(settings=Settings(data_dir=data_dir))
    with pytest.raises(Unavailable, match="start one with `windlass up`"):
        app.sync.list_jobs()
    assert not data_dir.exists(), "looking leaves no trace"
    with EmbeddedServer.start(data_dir) as server:
        migrate(server.url(OWNER))
        with app:
            assert app.sync.enqueue_job("a").created
    assert any(data_dir.iterdir())
    with pytest.raises(Unavailable, match="no embedded server runs"):
        app.sync.list_jobs()
