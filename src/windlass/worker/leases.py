"""The leases that this worker holds, and until when by its own clock.

The database's clock decides what has expired.  The local one only counts how long ago we last heard
that a lease is ours, from before the question was sent: it runs out here before it does there.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from windlass.model import ClaimedJob

__all__ = ["Lease", "Leases", "elapsed_clock"]

# Linux stops the monotonic clock while a machine sleeps, and leases go on expiring meanwhile.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def elapsed_clock() -> float:
    """Seconds since some moment; does not stand still while the machine sleeps, where that can be had."""
    return time.clock_gettime(_CLOCK)


class Lease:
    """One token, as bytes; it holds some jobs of one claim."""

    __slots__ = ("_claimed_at", "_since", "deadline", "open", "token")

    def __init__(self, token: bytes, claimed_at: datetime, since: float, deadline: float) -> None:
        self.token = token
        self.open = 0
        """Jobs of it about which the last word is not yet said and answered."""
        self.deadline = deadline
        self._claimed_at = claimed_at
        self._since = since

    def now(self) -> datetime:
        """The database's time, as far as it can be known here."""
        return self._claimed_at + timedelta(seconds=elapsed_clock() - self._since)


class Leases:
    """Written by the event loop, renewed by a thread."""

    def __init__(self, lease_seconds: float) -> None:
        self._seconds = lease_seconds
        self._lock = threading.Lock()
        self._held: dict[bytes, Lease] = {}

    def hold(self, jobs: Iterable[ClaimedJob], since: float) -> None:
        """Note a claim that was asked for at `since`."""
        with self._lock:
            for job in jobs:
                token = job.token_bytes
                lease = self._held.get(token)
                if lease is None:
                    claimed_at = job.expires_at - timedelta(seconds=self._seconds)
                    lease = self._held[token] = Lease(token, claimed_at, since, since + self._seconds)
                lease.open += 1

    def get(self, token: bytes, now: float) -> Lease | None:
        """The lease, while it is ours by what we know at the moment `now`."""
        lease = self._held.get(token)
        return lease if lease is not None and lease.deadline > now else None

    def let_go(self, tokens: Iterable[bytes]) -> None:
        """A job is settled for each time that a token is named."""
        with self._lock:
            for token, jobs in Counter(tokens).items():
                lease = self._held.get(token)
                if lease is not None:
                    lease.open -= jobs
                    if lease.open <= 0:
                        del self._held[token]

    def lose(self, tokens: Iterable[bytes]) -> None:
        """These are no longer ours."""
        with self._lock:
            for token in tokens:
                self._held.pop(token, None)

    def tokens(self) -> list[bytes]:
        with self._lock:
            return list(self._held)

    def renewed(self, tokens: Sequence[bytes], since: float) -> None:
        """These were confirmed by an answer to what was asked at `since`."""
        with self._lock:
            for token in tokens:
                lease = self._held.get(token)
                if lease is not None:
                    lease.deadline = since + self._seconds

    def expired(self) -> list[bytes]:
        """Those that ran out without our hearing of them."""
        now = elapsed_clock()
        with self._lock:
            return [token for token, lease in self._held.items() if lease.deadline <= now]

    def __len__(self) -> int:
        return len(self._held)
