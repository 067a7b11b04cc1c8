"""Nodes of a cluster as real processes, and what the database and their ledger say happened."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import namedtuple_row

import windlass
from tests.support import Servers, providers_by_major
from windlass import Windlass
from windlass.model import NewJob
from windlass.model.cluster import CLUSTER_QUEUE, ClusterJob, NewClusterJob, OnTimeout
from windlass.model.retry import RetryPolicy

ROOT = Path(__file__).parents[2]
SOURCE = Path(windlass.__file__ or "").parents[1]
PATIENCE = 60.0
LEASE = 2.0
NAMES = ("a", "b", "c")
QUICK = RetryPolicy(base_seconds=0.05, cap_seconds=0.2, max_attempts=1000)


def eventually(holds: Callable[[], Any], what: str) -> Any:
    """What the condition gives once it holds; the deadline only ends a test that has failed already."""
    deadline = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < deadline, f"not in {PATIENCE:.0f} s: {what}"
        time.sleep(0.02)
    return found


class NodeProcess:
    """One node in a process of its own."""

    def __init__(self, url: str, place: Path, name: str, **settings: Any) -> None:
        told = {
            "node_name": name,
            "cluster_lease_seconds": LEASE,
            "lease_seconds": 3.0,
            "poll_seconds": 0.2,
            "concurrency": 8,
            "grace_seconds": 10,
            "log_format": "json",
            **settings,
        }
        environment = {key: value for key, value in os.environ.items() if not key.startswith("WINDLASS_")}
        environment |= {f"WINDLASS_{key.upper()}": str(value) for key, value in told.items()}
        environment |= {
            "WINDLASS_DATABASE_URL": url,
            "WINDLASS_TEST_PLACE": str(place),
            "PYTHONPATH": os.pathsep.join((str(SOURCE), str(ROOT))),
        }
        command = [sys.executable, "-m", "tests.chaos.cluster_work"]
        with (place / "log").open("ab") as errors:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self.name = name

    def ready(self) -> "NodeProcess":
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n", "the node did not start"
        return self

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self._reap()

    def stop(self) -> int:
        """End it as it wants to end."""
        self.send(signal.SIGTERM)
        return self._reap()

    def _reap(self) -> int:
        code = self._process.wait(PATIENCE)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return code

    @property
    def running(self) -> bool:
        return self._process.poll() is None


class ClusterFleet:
    """Nodes by name, and the jobs that they do together."""

    def __init__(self, url: str, inside_url: str, place: Path) -> None:
        self.url = url
        self.place = place
        self._inside_url = inside_url
        self._app = Windlass(url)
        self.nodes: dict[str, NodeProcess] = {}

    def start(self, *names: str, url: str | None = None, **settings: Any) -> None:
        """Start nodes at once, and wait until all of them are members."""
        for name in names:
            self.nodes[name] = NodeProcess(url or self.url, self.place, name, **settings)
        for name in names:
            self.nodes[name].ready()
        eventually(lambda: set(names) <= set(self.members()), f"{names} are members")

    def revive(self, *names: str) -> None:
        """Start those that do not run, and wait until nobody else counts as a member."""
        self.start(*(name for name in names if name not in self.nodes))
        eventually(lambda: sorted(self.members()) == sorted(names), "the dead are no members any more")

    def kill(self, *names: str) -> None:
        for name in names:
            self.nodes.pop(name).kill()

    def end(self) -> None:
        for node in self.nodes.values():
            if node.running:
                node.send(signal.SIGCONT)
            node.kill()
        self._app.close_sync()
        if (self.place / "log").exists():
            sys.stdout.write((self.place / "log").read_text())  # shown for a test that failed

    def ask(self, text: str, *values: Any) -> list[Any]:
        with psycopg.connect(self._inside_url, autocommit=True, row_factory=namedtuple_row) as connection:
            cursor = connection.execute(text.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def members(self) -> list[str]:
        """By name; a node that died counts until its lease has run out, beside its next life."""
        text = "select name from windlass_data.node where member_until > now() and stopped_at is null"
        return [row.name for row in self.ask(text)]

    def leader(self) -> str:
        """Who leads, once somebody does that runs."""
        found = eventually(self._app.sync.get_leader, "somebody leads")
        return str(found.name)

    def new_leader(self, old: str) -> str:
        return str(eventually(lambda: (name := self.leader()) != old and name, f"another than {old} leads"))

    @property
    def term(self) -> int:
        return int(self.ask("select term from windlass_data.leader")[0].term)

    def create(
        self, *, hold: str = "", seconds: float = 0.0, on_timeout: OnTimeout = "wait", timeout: float = 10.0
    ) -> UUID:
        payload = {"hold": hold, "seconds": seconds}
        job = NewJob(kind="spread", payload=payload, queue=CLUSTER_QUEUE, max_attempts=1000, retry=QUICK)
        new = NewClusterJob(job=job, on_timeout=on_timeout, quorum_timeout=timeout, part_retry=QUICK)
        return self._app.sync.create_cluster_job(new).id

    def create_and_begin(self, timeout: float = 10.0) -> UUID:
        """A job whose parts run on all nodes, and hold there."""
        job_id = self.create(hold="part", timeout=timeout)
        count = len(self.nodes)
        eventually(lambda: len(self.ledger("part.start", job_id)) == count, "all parts run")
        return job_id

    def go(self, phase: str, *jobs: UUID) -> None:
        """Let the handlers of these jobs that hold in this phase go on."""
        for job_id in jobs:
            (self.place / f"{phase}-{job_id}").touch()

    def set_gate(self) -> None:
        self._app.sync.set_gate(kind="spread", reason="the test holds the cluster jobs")

    def clear_gate(self) -> None:
        self._app.sync.clear_gate(kind="spread")

    def get(self, job_id: UUID) -> ClusterJob:
        return self._app.sync.get_cluster_job(job_id)

    def state(self, job_id: UUID) -> str:
        return str(self._app.sync.get_job(job_id).state)

    def result(self, job_id: UUID) -> Any:
        return self._app.sync.wait_job(job_id, timeout=PATIENCE)

    def outcomes(self, job_id: UUID) -> list[str]:
        return [str(attempt.outcome) for attempt in self._app.sync.list_attempts(job_id)]

    def ledger(self, what: str, job_id: UUID | None = None) -> list[dict[str, Any]]:
        """What the handlers wrote; a line that is being written is left out."""
        path = self.place / "ledger"
        text = path.read_text().rpartition("\n")[0] if path.exists() else ""
        lines = [json.loads(line) for line in text.splitlines()]
        return [line for line in lines if line["what"] == what and job_id in (None, UUID(line["job"]))]

    def assert_sound(self, jobs: list[UUID]) -> None:
        """No job lost, no part ended twice, no action accepted under two terms."""
        assert {self.state(job_id) for job_id in jobs} <= {"succeeded", "dead"}
        # By the node's id: one that was started again may have a part beside that of its earlier life.
        ends = self.ask(
            "select job_id, actor, count(*)::int as n from windlass_data.event"
            " where action like 'part.%%' and details ->> 'part' in ('succeeded', 'failed', 'skipped')"
            " and job_id = any (%s) group by 1, 2",
            jobs,
        )
        assert [row for row in ends if row.n > 1] == []
        accepted = self.ask(
            "select job_id, version, result from windlass_data.attempt"
            " where ends is not null and job_id = any (%s)",
            jobs,
        )
        assert Counter(row.job_id for row in accepted) == Counter(jobs)
        begun = self.ask(
            "select job_id, (details ->> 'attempt')::int as version, (details ->> 'term')::int as term"
            " from windlass_data.event where action = 'cluster.action' and job_id = any (%s)",
            jobs,
        )
        terms = {(row.job_id, row.version): row.term for row in begun}
        assert len(terms) == len(begun)
        assert all(row.result["term"] == terms[row.job_id, row.version] for row in accepted)
        elected = self.ask(
            "select (details ->> 'term')::int as term from windlass_data.event"
            " where action = 'leader.elected' order by at"
        )
        assert [row.term for row in elected] == list(range(1, len(elected) + 1))


@contextlib.contextmanager
def shared_fleet(servers: Servers, place: Path) -> Iterator[ClusterFleet]:
    """On a database of its own of the default version: processes are slow to start, and tests share them."""
    server = servers.get(next(iter(providers_by_major())))
    with server.database() as db, cluster_fleet(db.url(), db.url("superuser"), place) as fleet:
        yield fleet


@contextlib.contextmanager
def cluster_fleet(url: str, inside_url: str, place: Path) -> Iterator[ClusterFleet]:
    fleet = ClusterFleet(url, inside_url, place)
    try:
        yield fleet
    finally:
        fleet.end()
