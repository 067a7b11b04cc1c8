"""Functions that stop before any one of their statements, until a test lets them go on."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support import Database
from windlass.db.sqlfiles import load

_STOP = 7717
_BEGINS = re.compile(r"(;|\bbegin|\bthen|\belse|\bloop)\s*$")
_NO_STATEMENT = re.compile(r"\s*(elsif|else|end|raise|return)\b")


def _places(text: str) -> list[int]:
    """The lines of a function's text before which it can be stopped."""
    lines = text.splitlines()
    body = next(n for n, line in enumerate(lines) if line == "begin")
    ends = next(n for n, line in enumerate(lines) if line in ("exception", "end"))
    found, ready = [], False
    for number, line in enumerate(lines[body:ends], body):
        bare = line.split("--")[0]
        if not bare.strip():
            continue
        if ready and not _NO_STATEMENT.match(bare):
            found.append(number)
        ready = _BEGINS.search(bare) is not None
    return found


def _with_stop(text: str, line: int) -> str:
    lines = text.splitlines()
    lines.insert(line, f"perform pg_advisory_xact_lock_shared({_STOP});")
    return "\n".join(lines).replace("create function", "create or replace function", 1)


class Stops:
    """The places at which a function can be stopped, one after the other."""

    def __init__(self, db: Database, function: str) -> None:
        self._db = db
        self._text = next(file.text for file in load().code if file.name == function)
        # A stop is a wait for a lock: whoever stands there is not to give up.
        self._text = re.sub(r"set lock_timeout = '\w+'", "set lock_timeout = 0", self._text)
        self._holder = db.connect("superuser")

    def each(self) -> Iterator[str]:
        """Put a stop before one statement after the other; says which statement that is."""
        for line in _places(self._text):
            self._db.execute(_with_stop(self._text, line), role="superuser")
            yield self._text.splitlines()[line].strip()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Whoever comes to the stop waits there for as long as this lasts."""
        self._holder.execute("select pg_advisory_lock(%s)", (_STOP,))
        try:
            yield
        finally:
            self._holder.execute("select pg_advisory_unlock(%s)", (_STOP,))
