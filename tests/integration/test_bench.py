"""The bench end to end on a real server: what it measures balances, and what does not is a failed run."""

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bench.process import ROOT, DriverFailed, DriverProcess
from bench.progress import Progress
from bench.results import Measurement
from bench.runner import measure
from bench.server import MeasuredServer
from bench.systems.own import floors, windlass
from bench.systems.system import System
from bench.trial import Trial
from bench.workloads.burden import build_history
from bench.workloads.registry import WORKLOADS
from tests.support import Server

FLOOR = floors()[0]
CARELESS = replace(FLOOR, command=(sys.executable, "-m", "tests.integration.careless"))


@pytest.fixture
async def measured(server: Server) -> MeasuredServer:
    found = MeasuredServer(server.url("superuser", "postgres"), None, "unused")
    await found.prepare()
    return found


async def run(server: MeasuredServer, workload: str, system: System, scale: float = 0.001) -> Measurement:
    options = {"history": 1_000_000}
    return await measure(
        server, 0, WORKLOADS[workload], system, scale=scale, seed=1, options=options, progress=Progress(1)
    )


@pytest.mark.parametrize("workload", ["W2", "W3b", "W4", "history"])
async def test_windlass_is_measured_and_balances(measured: MeasuredServer, workload: str) -> None:
    one = await run(measured, workload, windlass())
    assert one.error is None
    assert one.figures[WORKLOADS[workload].headline] != 0
    if workload == "history":
        assert one.figures["finished_before"] == 1_001
        assert all(one.figures[name] > 0 for name in ("w1_rate", "w2_rate", "w4_p50"))


@pytest.mark.parametrize("workload", ["W1", "W3"])
async def test_the_floor_is_measured_and_balances(measured: MeasuredServer, workload: str) -> None:
    one = await run(measured, workload, FLOOR)
    assert one.error is None
    assert one.figures[WORKLOADS[workload].headline] != 0


async def test_a_made_up_history_ended_over_the_days_of_its_ids_and_is_sealed(
    measured: MeasuredServer,
) -> None:
    nothing: dict[str, Any] = {}
    async with (
        measured.fresh(migrated=True) as database,
        Trial(measured, windlass(), database, 1.0, 1, lambda text: None, nothing) as trial,
    ):
        await build_history(trial, 700)
        for table, column, at in (("job", "id", "created_at"), ("attempt", "job_id", "finished_at")):
            rows = await trial.connection.fetch(
                f"select {column} as id, {at} as at from windlass_data.{table} order by {at} limit 700"
            )
            # The first 48 bits of an id are its milliseconds.
            assert [row["id"].int >> 80 for row in rows] == [
                round(row["at"].timestamp() * 1000) for row in rows
            ]
            assert rows[-1]["at"] - rows[0]["at"] > timedelta(days=6)
        sealed_to = await trial.connection.fetchval("select sealed_to from windlass_data.sealing")
        assert await trial.connection.fetchval(
            "select bool_and(finished_at <= $1) from windlass_data.attempt", sealed_to
        )


async def test_clients_that_share_nothing_have_a_connection_each(measured: MeasuredServer) -> None:
    nothing: dict[str, Any] = {}
    async with (
        measured.fresh(migrated=True) as database,
        Trial(measured, windlass(), database, 1.0, 1, lambda text: None, nothing) as trial,
    ):
        await (await trial.producer(8, apart=True)).call("spread", first=0, count=32, clients=8)
        connected = await trial.connection.fetchval(
            "select count(*) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid() and query ~ 'enqueue'"
        )
        assert connected == 8
        assert await trial.entered() == 32


async def test_the_floor_under_waiting_handlers_balances(measured: MeasuredServer) -> None:
    one = await run(measured, "io", FLOOR)
    assert one.error is None


async def test_a_job_that_no_handler_saw_fails_the_run(measured: MeasuredServer) -> None:
    one = await run(measured, "W3", replace(CARELESS, config={"skip": True}))
    assert one.error == "JobsLost: 1 of 1,000 jobs never reached a handler"
    assert one.figures == {}


async def test_a_job_that_is_never_finished_fails_the_run(
    measured: MeasuredServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.trial.STALLED_SECONDS", 1.0)
    one = await run(measured, "W3", replace(CARELESS, config={"forget": True}))
    assert one.error is not None
    assert "still not finished" in one.error


async def test_a_driver_that_cannot_start_is_a_failed_run_that_says_why(measured: MeasuredServer) -> None:
    one = await run(measured, "W3", replace(FLOOR, command=(sys.executable, "-m", "bench.drivers.nothing")))
    assert one.error is not None
    assert "No module named bench.drivers.nothing" in one.error


@pytest.fixture
def base() -> Iterator[Path]:
    """A directory that the server may enter, whoever runs the tests."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("when", ["starting", "measuring"])
async def test_an_interrupted_run_says_so_and_leaves_nothing(base: Path, when: str) -> None:
    words = ("--only", "W3", "--systems", "floor", "--data-dir", str(base))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench", *words),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    sign = "*/start.lock" if when == "starting" else "*/pgdata/base/?????"
    async with asyncio.timeout(60):
        while not list(base.glob(sign)):
            assert process.returncode is None
            await asyncio.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, said = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 130
    assert said.decode().strip().splitlines()[-1] == "bench: interrupted"
    assert "Traceback" not in said.decode()
    assert list(base.iterdir()) == []


async def test_a_driver_ends_with_its_parents_pipe() -> None:
    process = await DriverProcess.start("floor", FLOOR.command, {"url": "postgresql://nowhere/x"}, {})
    await process.call("ping", timeout=60)
    with pytest.raises(DriverFailed, match="answered: "):
        await process.call("setup", timeout=60)
    await process.close()
    assert process.process.returncode == 0
    with pytest.raises(DriverFailed, match="has ended"):
        await process.call("ping")
