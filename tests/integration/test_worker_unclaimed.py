"""A worker says which of its kinds wait where it takes nothing."""

import logging

import pytest

from tests.support import Database
from windlass import Windlass
from windlass.settings import Settings
from windlass.telemetry import Signal, Telemetry


@pytest.fixture
def app(db: Database) -> Windlass:
    app = Windlass(settings=Settings(database_url=db.url()))

    @app.job
    async def fine() -> None: ...

    @app.job(queue="mail")
    async def send() -> None: ...

    @app.job(queue="mail")
    async def remind() -> None: ...

    return app


@pytest.mark.parametrize("tends", [True, False])
async def test_a_worker_in_ones_own_program_mentions_kinds_of_queues_that_it_does_not_claim(
    app: Windlass, tends: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with app, app.worker(tends=tends) as worker:
        await worker.idle()
    said = [record for record in caplog.records if "takes nothing" in record.getMessage()]
    assert [record.levelno for record in said] == [logging.WARNING], "once"
    text = "remind, send: enqueued to the queue mail, from which this node takes nothing"
    assert said[0].getMessage() == f"{text}; queues=default,mail would"


async def test_so_do_its_signals_and_who_claims_them_all_has_nothing_to_say(app: Windlass) -> None:
    heard: list[Signal] = []
    async with app:
        async with app.worker(telemetry=Telemetry([heard.append])):
            pass
        assert [signal.name for signal in heard].count("worker.unclaimed") == 1
        heard.clear()
        async with app.worker(queues=["default", "mail"], telemetry=Telemetry([heard.append])):
            pass
    assert "worker.started" in {signal.name for signal in heard}
    assert "worker.unclaimed" not in {signal.name for signal in heard}
