"""The real command, run as a process of its own."""

import contextlib
import io
import json
import os
import pty
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import windlass
from tests.pooler import environment_for
from windlass.cli.main import run

SOURCE = Path(windlass.__file__ or "").parents[1]
PATIENCE = 60.0

APPLICATION = """
import asyncio

from windlass import Windlass

app = Windlass()


@app.job
async def add(a: int, b: int = 1) -> int:
    return a + b


@app.job(max_attempts=1)
def fall(reason: str) -> None:
    raise ValueError(reason)


@app.job
async def rest(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "rested"


@app.job(queue="mail")
def send(to: str) -> None: ...


empty = Windlass()
number = 7
"""


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> Any:
        return json.loads(self.err)["error"]

    def ok(self) -> "Answer":
        assert self.code == 0, self
        return self


class Command:
    """`windlass`, with an environment in which nothing is set but what a test says."""

    def __init__(self, cwd: Path, url: str | None = None, **environment: str) -> None:
        self.cwd = cwd
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("WINDLASS_", "PG", "PYTHON", "NO_COLOR", "FORCE_COLOR", "TERM"))
        }
        given = {} if url is None else {"WINDLASS_DATABASE_URL": url, **environment_for(url)}
        self.environment = {**inherited, "PYTHONPATH": str(SOURCE), "COLUMNS": "200", **given, **environment}

    def __call__(self, *words: object, input: str = "") -> Answer:
        done = subprocess.run(
            self._arguments(words),
            input=input,
            capture_output=True,
            text=True,
            cwd=self.cwd,
            env=self.environment,
            timeout=PATIENCE,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def here(self, *words: object, input: str = "") -> Answer:
        """The same without a process of its own, for the many ways in which it can be called."""
        out, err = io.StringIO(), io.StringIO()
        with (
            mock.patch.dict(os.environ, self.environment, clear=True),
            mock.patch.object(sys, "stdin", io.StringIO(input)),
            contextlib.chdir(self.cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = run([str(word) for word in words])
        return Answer(code, out.getvalue(), err.getvalue())

    def on_terminal(self, *words: object, typed: str = "") -> Answer:
        """The same, where standard input, output and error are one terminal; all of it is in `out`."""
        ours, theirs = pty.openpty()
        child = subprocess.Popen(
            self._arguments(words),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=self.cwd,
            env={**self.environment, "TERM": "xterm-256color"},
        )
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = b""
        with contextlib.suppress(OSError):  # the terminal ends with the process
            while chunk := os.read(ours, 65536):
                shown += chunk
        os.close(ours)
        return Answer(child.wait(timeout=PATIENCE), shown.decode(), "")

    def redirected(self, redirections: str, *words: object) -> subprocess.Popen[str]:
        """A command as a shell starts it that was told to redirect, or to close, standard streams."""
        return subprocess.Popen(
            ["sh", "-c", f'exec "$@" {redirections}', "sh", *self._arguments(words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.cwd,
            env=self.environment,
        )

    @contextlib.contextmanager
    def running(self, *words: object) -> Iterator["Running"]:
        """A command that runs on, from when it has said that it is ready; killed if the test leaves it."""
        child = subprocess.Popen(
            self._arguments((*words, "--json")),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.cwd,
            env=self.environment,
        )
        try:
            yield Running(child)
        finally:
            if child.poll() is None:
                child.kill()
            child.wait()
            for stream in (child.stdout, child.stderr):
                if stream is not None:
                    stream.close()

    @contextlib.contextmanager
    def running_in_words(self, *words: object) -> Iterator[str]:
        """What a command that runs on says to people once it is ready; it is stopped in order afterwards."""
        ours, theirs = os.pipe()
        child = subprocess.Popen(
            self._arguments(words),
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            cwd=self.cwd,
            env=self.environment,
        )
        os.close(theirs)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(ours, selectors.EVENT_READ)
                assert selector.select(PATIENCE), "it has not said that it is ready"
            yield os.read(ours, 65536).decode()  # all of it is written at once
        finally:
            child.terminate()
            child.wait(timeout=PATIENCE)
            os.close(ours)

    @staticmethod
    def _arguments(words: tuple[object, ...]) -> list[str]:
        return [sys.executable, "-m", "windlass", *(str(word) for word in words)]


class Running:
    """A process that has said that it is ready; what it logs is read as it comes."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self._child = child
        self._logged: list[str] = []
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        assert child.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            assert selector.select(PATIENCE), f"it has not said that it is ready: {self.log}"
        line = child.stdout.readline()
        if not line:
            self._reader.join(PATIENCE)
        assert line, f"it ended instead of being ready: {self.log}"
        self.ready = json.loads(line)

    @property
    def log(self) -> str:
        return "".join(self._logged)

    @property
    def ended(self) -> bool:
        return self._child.poll() is not None

    def send(self, number: int = signal.SIGTERM) -> None:
        self._child.send_signal(number)

    def close_output(self) -> None:
        """Nobody reads its standard output from now on."""
        assert self._child.stdout is not None
        self._child.stdout.close()

    def stop(self, number: int = signal.SIGTERM) -> Answer:
        self.send(number)
        code = self._child.wait(timeout=PATIENCE)
        self._reader.join(PATIENCE)
        assert self._child.stdout is not None
        out = "" if self._child.stdout.closed else self._child.stdout.read()
        return Answer(code, out, self.log)

    def _read_log(self) -> None:
        assert self._child.stderr is not None
        self._logged.extend(self._child.stderr)


def eventually(holds: Any, what: str) -> None:
    """Wait until the condition holds; the deadline only ends a test that has failed already."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"not in {PATIENCE:.0f} s: {what}"
        time.sleep(0.02)
