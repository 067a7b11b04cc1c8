"""A worker says at its start when its login is one that row-level security does not hold."""

import logging
from collections.abc import Iterator

import pytest

from tests.support import Database
from windlass import Windlass
from windlass.node import Node
from windlass.settings import Settings

pytestmark = pytest.mark.direct(reason="the pooler knows two logins")

LOGIN = "windlass_exempt"


@pytest.fixture(params=["superuser", "bypassrls"])
def exempt(db: Database, request: pytest.FixtureRequest) -> Iterator[str]:
    admin = db.connect("superuser")
    groups = "windlass_worker, windlass_producer, windlass_operator"
    admin.execute(f"create role {LOGIN} login {request.param} in role {groups}".encode())
    yield db.server.url(LOGIN, db.name)
    admin.execute(f"drop role {LOGIN}".encode())


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelno >= logging.WARNING and "BYPASSRLS" in record.getMessage()
    ]


def app_at(url: str) -> Windlass:
    app = Windlass(settings=Settings(database_url=url))

    @app.job
    async def nod() -> None: ...

    return app


async def work(app: Windlass, *, whole: bool) -> None:
    if not whole:
        async with app.worker():
            return
    node = Node(app.settings, app.registry)
    await node.run(lambda node: node.request_stop())


@pytest.mark.parametrize("whole", [False, True], ids=["worker", "node"])
async def test_it_is_warned_of_once(exempt: str, whole: bool, caplog: pytest.LogCaptureFixture) -> None:
    await work(app_at(exempt), whole=whole)
    (said,) = warnings(caplog)
    assert said.startswith(f"the login {LOGIN} is a superuser or has BYPASSRLS: nothing keeps tenants apart")
    assert "windlass_worker and windlass_producer (docs/postgresql.md)" in said


@pytest.mark.parametrize("whole", [False, True], ids=["worker", "node"])
async def test_of_any_other_nothing_is_said(
    db: Database, whole: bool, caplog: pytest.LogCaptureFixture
) -> None:
    await work(app_at(db.url()), whole=whole)
    assert warnings(caplog) == []
