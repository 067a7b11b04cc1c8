"""One server for many changes of SQL: each is put into the template that tests' databases are copied from.

A test run of its own would spend most of its time starting a server and installing everything in it.  Here
each run is a fork of this process: the server and all modules are there already.  Start it with the copy of
the source as the directory and before pytest was ever run, so that the children load what is in the copy.
"""

import os
import re
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence

import psycopg
import pytest

from tests import support
from windlass.testing.server import _TEMPLATE

__all__ = ["Refused", "Stage"]

_FUNCTION = re.compile(r"^create function .*?^\$\$;", re.DOTALL | re.MULTILINE)


class Refused(Exception):
    """PostgreSQL does not compile it."""


class _Shared:
    """Takes the place of the servers that a test session would start."""

    def __init__(self, server: support.Server) -> None:
        self._server = server

    def get(self, major: int) -> support.Server:
        return self._server

    def stop(self) -> None:
        self._server._give_up()  # the databases of this run; the server stays


class Stage:
    """Use as `with`; `run` gives the output and the exit code of pytest."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._start()

    def _start(self) -> None:
        provider = next(iter(support.providers_by_major().values()))
        self._server = support.Server(provider)
        with self._server.database():
            pass  # the template is made with the first

    def replace(self, text: str) -> None:
        """Create the function of this file anew."""
        statement = _FUNCTION.search(text)
        if statement is None:
            raise Refused("there is no function in it")
        again = statement[0].replace("create function", "create or replace function", 1)
        with psycopg.connect(self._server.url("superuser", _TEMPLATE), autocommit=True) as connection:
            try:
                connection.execute(again.encode())
            except psycopg.Error as error:
                raise Refused(str(error)) from None

    def run(self, tests: Sequence[str], *options: str) -> tuple[int, str]:
        """Exit code and output; 124 where it had to be ended, which the caller takes for a failure."""
        with tempfile.TemporaryFile() as output:
            child = os.fork()
            if child == 0:
                _be_tests(self._server, output.fileno(), [*options, *tests])
            code = self._wait(child)
            output.seek(0)
            return code, output.read().decode(errors="replace")

    def _wait(self, child: int) -> int:
        deadline = time.monotonic() + self._seconds
        while time.monotonic() < deadline:
            ended, state = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(state)
            time.sleep(0.02)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self._server.stop()  # whatever its sessions held
        self._start()
        return 124

    def close(self) -> None:
        self._server.stop()


def _be_tests(server: support.Server, output: int, arguments: list[str]) -> None:
    os.setpgid(0, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    code = 3
    try:
        support.Servers = lambda *_: _Shared(server)  # type: ignore[assignment,misc]
        ignored = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # all is loaded already
        quiet = ["-n", "0", "-x", "-q", "--tb=line", "-p", "no:cacheprovider", "--timeout=60", *ignored]
        code = int(pytest.main([*quiet, *arguments]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)
