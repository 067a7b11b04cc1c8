"""One driver process, seen from the parent: requests out, answers and beats in."""

import asyncio
import itertools
import json
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "DriverFailed", "DriverProcess", "python_path"]

ROOT = Path(__file__).parents[1]
LONGEST_LINE = 2**26


def python_path() -> str:
    """Where a driver finds this package, whatever environment it runs in."""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))


class DriverFailed(Exception):
    """A driver ended, or could not do what it was asked; says what it wrote last."""


class DriverProcess:
    """Ends with the parent: the driver reads its requests until the pipe closes."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self.process = process
        self.beats: list[tuple[int, int]] = []
        """When (monotonic nanoseconds), and how many handlers had begun by then."""
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._last_words: deque[str] = deque(maxlen=30)
        self._reading = [asyncio.create_task(self._read()), asyncio.create_task(self._overhear())]

    @classmethod
    async def start(
        cls, name: str, command: Sequence[str], config: Mapping[str, Any], environment: Mapping[str, str]
    ) -> "DriverProcess":
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("WINDLASS_", "PG"))}
        own = {"PYTHONPATH": python_path(), "BENCH_CONFIG": json.dumps(dict(config))}
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
            cwd=ROOT,
            env={**kept, **environment, **own},
            start_new_session=True,  # Ctrl-C goes to the parent alone
        )
        return cls(name, process)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def handled(self) -> int:
        return self.beats[-1][1] if self.beats else 0

    async def call(self, do: str, timeout: float = 3600.0, **arguments: Any) -> Any:
        """The driver's answer; DriverFailed if it has none."""
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        request = json.dumps({"id": number, "do": do, **arguments}) + "\n"
        stdin = self.process.stdin
        if stdin is None or self.process.returncode is not None:
            raise await self._ended()
        try:
            stdin.write(request.encode())
            await stdin.drain()
            return await asyncio.wait_for(answer, timeout)
        except TimeoutError:
            raise self._failed(f"did not answer to {do} within {timeout:g} s") from None
        except ConnectionError:
            raise await self._ended() from None

    async def _ended(self) -> DriverFailed:
        """With its last words, which may still be on their way."""
        await asyncio.wait(self._reading, timeout=1.0)
        return self._failed("has ended")

    async def close(self) -> None:
        """End the process, and with it whatever it started."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), 2.0)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        await self.process.wait()
        await asyncio.gather(*self._reading, return_exceptions=True)

    async def _read(self) -> None:
        stdout = self.process.stdout
        if stdout is None:
            return
        while line := await stdout.readline():
            self._hear(line)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(self._failed("ended"))

    def _hear(self, line: bytes) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            self._last_words.append(line.decode(errors="replace").rstrip())
            return
        if "beat" in said:
            at, handled = said["beat"]
            self.beats.append((at, handled))
            return
        answer = self._answers.pop(said["id"], None)
        if answer is None or answer.done():
            return
        if "error" in said:
            answer.set_exception(self._failed(f"answered: {said['error']}"))
        else:
            answer.set_result(said["answer"])

    async def _overhear(self) -> None:
        stderr = self.process.stderr
        while stderr is not None and (line := await stderr.readline()):
            self._last_words.append(line.decode(errors="replace").rstrip())

    def _failed(self, what: str) -> DriverFailed:
        words = "\n  ".join(self._last_words)
        return DriverFailed(f"the driver of {self.name} {what}" + (f"\n  {words}" if words else ""))
