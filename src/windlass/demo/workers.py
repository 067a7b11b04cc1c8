"""The worker processes of the demo: started, killed, replaced, and never left behind."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from windlass.demo.jobs import RELEASE
from windlass.errors import WindlassError

__all__ = ["LEASE_SECONDS", "WORKERS", "WorkerProcess", "Workers"]

WORKERS = 3
LEASE_SECONDS = 2.0
_CONCURRENCY = 4
_GRACE_SECONDS = 5.0
_PATIENCE_SECONDS = _GRACE_SECONDS + 5.0
_KEPT_LINES = 40
_LONGEST_LINE = 1024 * 1024


@dataclass(slots=True, eq=False)
class WorkerProcess:
    """One process; its name is taken over by the one that replaces it."""

    name: str
    release: int
    process: asyncio.subprocess.Process
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_LINES))
    """The last lines that it wrote, in case anybody has to ask."""
    dismissed: bool = False

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def ended(self, overhear: Callable[[str], None]) -> int:
        """Wait for its end, keeping what it says until then."""
        assert self.process.stdout is not None  # noqa: S101 - it was started with a pipe
        async for line in self.process.stdout:
            self.lines.append(line.decode(errors="replace").rstrip())
            if remark := _remark(self.lines[-1]):
                overhear(f"{self.name}: {remark}")
        return await self.process.wait()


class Workers:
    """Keeps some workers running: one that ends is replaced, as any service manager would."""

    def __init__(
        self, database_url: str, note: Callable[[str], None], overhear: Callable[[str], None]
    ) -> None:
        """`note` is told who came and went, `overhear` what the workers themselves complain about."""
        self._url = database_url
        self._overhear = overhear
        self._names = [f"worker-{number}" for number in range(1, WORKERS + 1)]
        self._note = note
        self._release = 1
        self._keepers: list[asyncio.Task[None]] = []
        self._current: dict[str, WorkerProcess] = {}
        self._next: dict[str, WorkerProcess] = {}
        self.killed: list[WorkerProcess] = []
        """Those that ended without having been asked to."""

    async def __aenter__(self) -> "Workers":
        self._keepers = [asyncio.create_task(self._keep(name)) for name in self._names]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop them all: nothing that was started here outlives this."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        await asyncio.gather(*(self._stop(worker) for worker in self._next.values()))

    @property
    def current(self) -> list[WorkerProcess]:
        return [self._current[name] for name in self._names if name in self._current]

    async def kill(self, pid: int) -> None:
        """SIGKILL: no handler, no cleanup, no goodbye.  Returns when the process is dead."""
        victim = next(worker for worker in self.current if worker.pid == pid)
        victim.send(signal.SIGKILL)
        await victim.process.wait()

    def check(self) -> None:
        """Raise what is wrong with a worker that ended by itself: it would only do so again."""
        for keeper in self._keepers:
            if keeper.done():
                keeper.result()

    async def deploy(self, release: int) -> None:
        """Replace one worker after another; each is asked with SIGTERM, and finishes what it is at.

        The new ones are started first: they load while the old ones leave.
        """
        self._release, leaving = release, self.current
        for before in leaving:
            self._next[before.name] = await self._start(before.name)
        for before in leaving:
            before.dismissed = True
            before.send(signal.SIGTERM)
            while self._current[before.name] is before:
                await asyncio.sleep(0.02)
                self.check()

    async def _keep(self, name: str) -> None:
        while True:
            self._current[name] = worker = self._next.pop(name, None) or await self._start(name)
            try:
                code = await worker.ended(self._overhear)
            except BaseException:
                await self._stop(worker)
                raise
            if worker.dismissed:
                self._note(f"{name} (pid {worker.pid}) finished its jobs and left")
            elif code >= 0:
                last_words = "\n".join(worker.lines)
                raise WindlassError(f"{name} ended by itself with exit code {code}:\n{last_words}")
            else:
                self.killed.append(worker)
                how = signal.Signals(-code).name
                self._note(f"{name} (pid {worker.pid}) was ended by {how}; another takes its place")

    async def _start(self, name: str) -> WorkerProcess:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "windlass.demo.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=_LONGEST_LINE,
            env=self._environment(name),
            start_new_session=True,  # Ctrl-C goes to the demo alone, which then stops its workers
        )
        return WorkerProcess(name, self._release, process)

    def _environment(self, name: str) -> dict[str, str]:
        """The caller's, without any Windlass settings: they are for the caller's own installation."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("WINDLASS_")}
        return {
            **kept,
            RELEASE: str(self._release),
            "WINDLASS_DATABASE_URL": self._url,
            "WINDLASS_NODE_NAME": name,
            "WINDLASS_CONCURRENCY": str(_CONCURRENCY),
            "WINDLASS_LEASE_SECONDS": str(LEASE_SECONDS),
            "WINDLASS_GRACE_SECONDS": str(_GRACE_SECONDS),
            "WINDLASS_LOG_FORMAT": "json",
        }

    async def _stop(self, worker: WorkerProcess) -> None:
        worker.send(signal.SIGTERM)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await worker.ended(self._overhear)
        except TimeoutError:
            worker.send(signal.SIGKILL)
            await worker.ended(self._overhear)


def _remark(line: str) -> str | None:
    """What a line of the worker's log says about a job that went wrong, if it does."""
    try:
        said = json.loads(line)
        if said["level"] not in ("warning", "error") or said["kind"] is None:
            return None
        error = said.get("error") or {}
        return f"{said['message']}: {said['kind']}, attempt {said['attempt']}, {error.get('message', '')}"
    except (ValueError, KeyError, TypeError):
        return None
