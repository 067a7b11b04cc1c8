"""Help for tests that work with real processes: start them, ask about them, wait for what must come."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest

import windlass

ACTOR = Path(__file__).with_name("actor.py")
SOURCE = Path(windlass.__file__ or "").parents[1]
PATIENCE = 60.0


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait until the condition holds; the deadline only ends a test that has failed already."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"not in {PATIENCE:.0f} s: {what}"
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    """No such process, or only its entry is left for a parent that has not asked yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"


def all_gone(*pids: int) -> Callable[[], bool]:
    return lambda: all(is_gone(pid) for pid in pids)


def answers(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            return connection.execute("select 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


def write_row(url: str, text: str) -> None:
    with psycopg.connect(url.replace("windlass_app@", "windlass_owner@"), autocommit=True) as connection:
        connection.execute("create table if not exists public.kept (text text)")
        connection.execute("insert into public.kept values (%s)", [text])


def read_rows(url: str) -> list[str]:
    with psycopg.connect(url.replace("windlass_app@", "windlass_owner@")) as connection:
        return [row[0] for row in connection.execute("select text from public.kept order by 1")]


class Actor:
    """Another process with an embedded server; see actor.py."""

    def __init__(
        self, *, nobody: bool = False, environ: dict[str, str] | None = None, **options: Any
    ) -> None:
        words = json.dumps(
            {key: str(value) if isinstance(value, Path) else value for key, value in options.items()}
        )
        command = [sys.executable, str(ACTOR), words]
        inherited = {**os.environ, **(environ or {}), "PYTHONPATH": os.pathsep.join([str(SOURCE), *sys.path])}
        self.process = subprocess.Popen(
            [*(nobody_prefix() if nobody else []), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=inherited,
            text=True,
        )
        self.facts: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if not self.facts:
            self.hear()
        return self.facts[name]

    def hear(self) -> None:
        """Wait for the next report."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        line = self.process.stdout.readline()
        assert line, f"the actor failed: {self.process.stderr.read()}"
        self.facts = json.loads(line)

    def order(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        if word != "end":
            self.hear()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.process.wait()

    @property
    def server_pids(self) -> tuple[int, int]:
        return self["postmaster"], self["guardian"]

    def crash_everything(self) -> None:
        """Kill server, guardian and Python so that none can act on the death of another."""
        postmaster, guardian = self.server_pids
        os.kill(guardian, signal.SIGSTOP)
        os.kill(postmaster, signal.SIGKILL)
        self.signal(signal.SIGKILL)
        os.kill(guardian, signal.SIGKILL)
        eventually(all_gone(postmaster, guardian), "killed processes are gone")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        if self.facts.get("owner"):
            eventually(all_gone(*self.server_pids), "the server ended with its owner")


@cache
def nobody_prefix() -> list[str]:
    """How root becomes nobody and can still execute this interpreter, wherever root keeps it."""
    nobody = pwd.getpwnam("nobody")
    identity = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    probe = [sys.executable, "-c", "import encodings, psycopg"]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    reading = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    # setpriv itself can execute what its child then cannot read, so the probe is run through a shell.
    for prefix in ([*identity], [*identity, *reading]):
        tried = [*prefix, "/bin/sh", "-c", 'exec "$@"', "sh", *probe]
        if subprocess.run(tried, env=environ, capture_output=True, check=False).returncode == 0:
            return prefix
    raise RuntimeError("root cannot run this interpreter as nobody")


def users() -> list[Any]:
    """This user and, where this user is root, nobody as well."""
    if os.geteuid() != 0:
        return [pytest.param(False, id="self")]
    lacking = pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
    return [pytest.param(False, id="root"), pytest.param(True, id="nobody", marks=lacking)]
