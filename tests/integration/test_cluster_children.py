"""Parts and actions in child processes end as the jobs of any kind do, and are fenced as any action is."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from tests.integration.cluster_fleet import Fleet, fleet
from tests.integration.cluster_work import app as work
from tests.integration.cluster_work import child_pid, hasty, measure, sum_up
from tests.integration.crew import until
from tests.support import Database
from windlass import LeaderContext, NotLeader
from windlass.client import JobHandle
from windlass.db.rpc_cluster import Begun
from windlass.errors import InvalidInput, JobFailed


@pytest.fixture
async def nodes(db: Database) -> AsyncIterator[Fleet]:
    with work.at(db.url()):
        async with fleet(db, work) as nodes:
            await nodes.start("a", lease_seconds=1.5)
            yield nodes
        await work.close()


async def hanging(place: Path, attempt: int = 1) -> int:
    path = place / f"pid-{attempt}"
    await until(path.exists, "the action runs")
    return int(path.read_text())


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def outcomes(handle: "JobHandle[object]") -> list[str]:
    return [str(attempt.outcome) for attempt in await handle.attempts()]


async def test_the_action_has_its_term_and_the_results_at_hand(nodes: Fleet, tmp_path: Path) -> None:
    result = await (await measure.create(str(tmp_path))).wait(timeout=60)
    worker = nodes.nodes["a"].worker
    assert worker is not None
    assert worker.child_pids == [result["pid"]]
    part = result["results"]["a"]
    assert part not in (os.getpid(), result["pid"])
    assert (result["term"], result["attempt"]) == (1, 1)
    assert await (await hasty.create(str(tmp_path), hangs=False)).wait(timeout=60) == 1
    assert worker.child_pids == [result["pid"]]  # kept for the next one


async def test_a_killed_child_is_a_failed_attempt_and_the_parts_are_not_done_again(
    nodes: Fleet, tmp_path: Path
) -> None:
    handle = await measure.create(str(tmp_path), hangs=1)
    os.kill(await hanging(tmp_path), signal.SIGKILL)
    assert (await handle.wait(timeout=60))["attempt"] == 2
    failed, succeeded = await handle.attempts()
    assert (str(failed.outcome), str(succeeded.outcome)) == ("failed", "succeeded")
    assert failed.error is not None
    assert (failed.error["type"], "signal 9" in failed.error["message"]) == ("ChildCrashed", True)
    assert [part.attempts for part in (await nodes.get(handle.id)).parts] == [1]


async def test_an_action_that_times_out_is_killed(nodes: Fleet, tmp_path: Path) -> None:
    handle = await hasty.create(str(tmp_path))
    with pytest.raises(JobFailed):
        await handle.wait(timeout=60)
    assert await outcomes(handle) == ["timed_out"]
    await until(lambda: is_gone(int((tmp_path / "pid-1").read_text())), "its child is gone")


async def test_a_canceled_action_is_killed(nodes: Fleet, tmp_path: Path) -> None:
    handle = await measure.create(str(tmp_path), hangs=1)
    pid = await hanging(tmp_path)
    await handle.cancel()
    with pytest.raises(JobFailed, match="canceled"):
        await handle.wait(timeout=60)
    assert await outcomes(handle) == ["canceled"]
    await until(lambda: is_gone(pid), "its child is gone")


async def test_an_action_of_the_last_term_is_killed_and_run_again_in_the_next(
    nodes: Fleet, db: Database, tmp_path: Path
) -> None:
    await nodes.start("b", lease_seconds=1.5)
    handle = await measure.create(str(tmp_path), hangs=1)
    pid = await hanging(tmp_path)
    worker = nodes.nodes["b"].worker
    assert worker is not None
    db.execute(
        "update windlass_data.leader set node_id = %s, term = term + 1", worker.node_id, role="superuser"
    )
    result = await handle.wait(timeout=60)
    assert (result["term"], result["attempt"], result["pid"] in worker.child_pids) == (2, 2, True)
    assert await outcomes(handle) == ["crashed", "succeeded"]
    await until(lambda: is_gone(pid), "the child of the last leader is gone")
    assert (await nodes.get(handle.id)).action_term == 2


async def test_an_action_that_finds_another_leader_starts_no_child_and_is_not_counted(
    nodes: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, refusals = work.sync.begin_action, [NotLeader("node b leads, in term 2")]
    worker = nodes.nodes["a"].worker
    assert worker is not None
    children: list[int] = []

    def begin_action(token: UUID, job_id: UUID) -> Begun:
        children.append(len(worker.child_pids))
        if refusals:
            raise refusals.pop()
        return real(token, job_id)

    monkeypatch.setattr(work.sync, "begin_action", begin_action)
    handle = await hasty.create(str(tmp_path), hangs=False)
    assert await handle.wait(timeout=60) == 1
    assert await outcomes(handle) == ["snoozed", "succeeded"]
    assert children == [0, 0]


def test_what_a_child_cannot_find_is_refused() -> None:
    def inside(ctx: LeaderContext) -> None: ...

    for unreachable in (inside, lambda: None, "text".upper):
        with pytest.raises(InvalidInput, match="must be a function of a module"):
            work.leader_job(isolation="process")(unreachable)
        with pytest.raises(InvalidInput, match="must be a function of a module"):
            child_pid.leader(isolation="process")(unreachable)


def test_the_isolation_of_the_parts_is_not_that_of_the_action() -> None:
    rooms = [kind.cluster_kind.action.room for kind in (child_pid, measure, hasty)]
    assert rooms == ["loop", "process", "process"]
    assert sum_up.__name__ == "sum_up"
