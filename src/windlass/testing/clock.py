"""Control of the time that Windlass sees in one test's database."""

from datetime import UTC, datetime, timedelta
from typing import Any

from windlass.db.connect import connect, translated
from windlass.errors import InvalidInput

__all__ = ["Clock"]

_REPLACE = (
    "create or replace function windlass_data.clock() returns timestamptz language sql volatile "
    "parallel safe set search_path = pg_catalog, pg_temp as '{body}'"
)
_RUNNING = "select pg_catalog.clock_timestamp() + interval ''{offset} us''"
_FROZEN = "select timestamptz ''{moment}''"
_MICROSECOND = timedelta(microseconds=1)


class Clock:
    """The database's clock, in the hands of a test.

    It replaces the one function that tells Windlass the time, as the role that owns it; every session
    sees the change with its next statement.  The server's own clock, and Python's, go on as ever.
    """

    def __init__(self, owner_url: str) -> None:
        self._url = owner_url
        self._frozen: datetime | None = None
        self._offset = timedelta()

    def now(self) -> datetime:
        """What time it is for Windlass."""
        return self._read("windlass_data.clock()")

    def advance(self, by: timedelta | float) -> datetime:
        """Move time by so much, seconds if it is a number; returns the new time."""
        step = by if isinstance(by, timedelta) else timedelta(seconds=by)
        if self._frozen is not None:
            return self.freeze(self._frozen + step)
        self._offset += step
        return self._replace(_RUNNING.format(offset=self._offset // _MICROSECOND))

    def set(self, moment: datetime) -> datetime:
        """Make it `moment` now; a frozen clock stays frozen, a running one runs on from there."""
        if self._frozen is not None:
            return self.freeze(moment)
        return self.advance(_checked(moment) - self.now())

    def freeze(self, at: datetime | None = None) -> datetime:
        """Stop time, now or at a moment, so that a test can say exactly what follows."""
        self._frozen = self.now() if at is None else _checked(at)
        return self._replace(_FROZEN.format(moment=self._frozen.isoformat()))

    def resume(self) -> datetime:
        """Let a frozen clock run on from where it stands."""
        if self._frozen is not None:
            self._offset = self._frozen - self._read("pg_catalog.clock_timestamp()")
            self._frozen = None
        return self.advance(0)

    def reset(self) -> datetime:
        """Back to the server's own time, running."""
        self._frozen, self._offset = None, timedelta()
        return self.advance(0)

    def _replace(self, body: str) -> datetime:
        """Give the clock another body, and say what it tells now."""
        return self._read("windlass_data.clock()", _REPLACE.format(body=body))

    def _read(self, clock: str, first: str | None = None) -> datetime:
        with translated(), connect(self._url, application_name="windlass test clock") as connection:
            if first is not None:
                connection.execute(first.encode())
            rows: list[Any] = connection.execute(f"select {clock} at time zone 'UTC'".encode()).fetchall()
        read: datetime = rows[0][0].replace(tzinfo=UTC)
        return read


def _checked(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise InvalidInput(
            "a clock is set to a time with its time zone, as in datetime(2031, 1, 1, tzinfo=UTC)"
        )
    return moment.astimezone(UTC)
