"""Real worker processes, real signals, and what the ledger says happened."""

import contextlib
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg.rows import namedtuple_row

import windlass
from tests.chaos.records import read

ROOT = Path(__file__).parents[2]
SOURCE = Path(windlass.__file__ or "").parents[1]
TENANT = UUID("00000000-0000-7000-8000-000000000001")
PATIENCE = 60.0


class Line(NamedTuple):
    what: str
    job_id: UUID
    attempt: int
    pid: int


def eventually(holds: Callable[[], Any], what: str) -> None:
    """Wait until the condition holds; the deadline only ends a test that has failed already."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"not in {PATIENCE:.0f} s: {what}"
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"


class WorkerProcess:
    """One node in a process of its own; `prefix` is a command that runs it elsewhere."""

    def __init__(
        self,
        url: str,
        directory: Path,
        *,
        prefix: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        told = {"lease_seconds": 2.0, "concurrency": 4, "grace_seconds": 20, "log_format": "json", **settings}
        self.name = str(told.setdefault("node_name", f"worker-{secrets.token_hex(3)}"))
        self.lease_seconds = float(told["lease_seconds"])
        variables = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}
        variables |= {f"WINDLASS_{name.upper()}": str(value) for name, value in told.items()}
        variables |= {
            "WINDLASS_DATABASE_URL": url,
            "WINDLASS_TEST_LEDGER": str(directory / "ledger"),
            "WINDLASS_TEST_CALLS": str(directory / "calls"),
            "PYTHONPATH": os.pathsep.join((str(SOURCE), str(ROOT))),
            **(environment or {}),
        }
        with (directory / "log").open("ab") as errors:
            self._process = subprocess.Popen(
                [*prefix, sys.executable, "-m", "tests.chaos.work"],
                cwd=ROOT,
                env=variables,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.pid = self._process.pid
        self._ready = False

    def ready(self) -> "WorkerProcess":
        assert self._process.stdout is not None
        self._ready = self._ready or self._process.stdout.readline() == "ready\n"
        assert self._ready, "the worker did not start"
        return self

    @property
    def is_ready(self) -> bool:
        """Whether it has begun to claim; without waiting for that."""
        stdout = self._process.stdout
        if not self._ready and stdout is not None and select.select([stdout], [], [], 0)[0]:
            self._ready = stdout.readline() == "ready\n"
        return self._ready

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait(self) -> int:
        return self._process.wait(PATIENCE)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.send(signal.SIGCONT)
            self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


class Fleet:
    """Worker processes on one database, and the jobs that they share."""

    def __init__(self, url: str, inside_url: str, directory: Path) -> None:
        self.url = url
        self._inside_url = inside_url
        self.directory = directory
        self._log = directory / "log"
        self._workers: list[WorkerProcess] = []

    @property
    def alive(self) -> list[WorkerProcess]:
        return [worker for worker in self._workers if worker.running]

    def start(self, **settings: Any) -> WorkerProcess:
        return self.launch(**settings).ready()

    def launch(self, **settings: Any) -> WorkerProcess:
        """Start a worker without waiting for it."""
        worker = WorkerProcess(settings.pop("url", self.url), self.directory, **settings)
        self._workers.append(worker)
        return worker

    def end(self) -> None:
        for worker in self._workers:
            worker.end()
        if self._log.exists():
            sys.stdout.write(self._log.read_text())  # shown for a test that failed

    def enqueue(self, kind: str, count: int = 1, /, max_attempts: int = 5, **payload: Any) -> list[UUID]:
        jobs = [{"kind": kind, "payload": payload, "max_attempts": max_attempts}] * count
        text = "select job_id from windlass.enqueue_jobs(%s, %s) order by ordinal"
        return [row.job_id for row in self.ask(text, TENANT, json.dumps(jobs))]

    def ask(self, text: str, *values: Any, inside: bool = False) -> list[Any]:
        """Rows of a query, by a session of its own; `inside` as a superuser."""
        url = self._inside_url if inside else self.url
        with psycopg.connect(url, autocommit=True, row_factory=namedtuple_row) as connection:
            cursor = connection.execute(text.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def job(self, job_id: UUID) -> Any:
        return self.ask("select * from windlass.get_job(%s, %s)", TENANT, job_id)[0]

    def states(self, ids: list[UUID]) -> dict[str, int]:
        text = "select d.state, count(*)::int as n from windlass._describe_jobs(%s, %s) as d group by d.state"
        return {row.state: row.n for row in self.ask(text, TENANT, ids, inside=True)}

    def outcomes(self, job_id: UUID) -> list[str]:
        text = "select outcome::text from windlass_data.attempt where job_id = %s order by version"
        return [row.outcome for row in self.ask(text, job_id, inside=True)]

    def ledger(self, what: str) -> list[Line]:
        """What the handlers wrote; a line that is being written is left out."""
        return [
            Line(line["what"], UUID(line["job"]), line["attempt"], line["pid"])
            for line in read(self.directory / "ledger")
            if line["what"] == what
        ]

    def logged(self, message: str) -> list[dict[str, Any]]:
        """The log lines of all workers whose message begins so."""
        whole = self._log.read_text().rpartition("\n")[0]
        lines = [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
        return [line for line in lines if line["message"].startswith(message)]

    @property
    def leases(self) -> int:
        return int(self.ask("select count(*) as n from windlass_data.lease", inside=True)[0].n)


@contextlib.contextmanager
def fleet(url: str, inside_url: str, directory: Path) -> Iterator[Fleet]:
    fleet = Fleet(url, inside_url, directory)
    try:
        yield fleet
    finally:
        fleet.end()
