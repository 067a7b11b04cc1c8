"""The database away and back again, as one loop lives through it: told once, waited out with backoff."""

from windlass.db.link import Backoff
from windlass.errors import SchemaMismatch, Unavailable, WindlassError
from windlass.worker.signals import Signals

__all__ = ["Outage", "lock_not_free"]


class Outage:
    def __init__(self, what: str, signals: Signals, *, cap: float = 2.0) -> None:
        self._what = what
        self._signals = signals
        self._backoff = Backoff(cap=cap)
        self._code: str | None = None

    def failed(self, error: WindlassError) -> float:
        """Note a failure; the answer says for how many seconds to wait before the next try."""
        if error.code != self._code:  # another kind of failure is news, the same again is not
            self._code = error.code
            self._signals.failing(self._what, error)
        return self._backoff.next()

    @property
    def mismatch(self) -> bool:
        """Whether the database does not know what was said: it was migrated to another release."""
        return self._code == SchemaMismatch.code

    def over(self) -> None:
        """Note a success."""
        if self._code is not None:
            self._code = None
            self._backoff.reset()
            self._signals.recovered(self._what)


def lock_not_free(error: Exception) -> bool:
    """Words wait half a second at most for a lock (see fail_jobs), and are then to be said again."""
    return isinstance(error, Unavailable) and error.details.get("sqlstate") == "55P03"
