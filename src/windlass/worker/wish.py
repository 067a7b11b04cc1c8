"""What a worker has asked of those who enqueue: to be told of new work, while it has none, or little."""

from windlass.worker.flood import Flood

__all__ = ["FEW", "Wish"]

FEW = 10
"""A claim that finds fewer leaves the wish standing, as one that finds nothing does (see claim_jobs)."""
_BUSY_SECONDS = 1.0
"""For how long there must be much to do before the wish is taken back.

To take it back and to say it again writes a row, which everybody who looks for wishes steps over for as
long as somebody's snapshot keeps it.  Bursts that are shorter cost some notices instead.
"""
_SAY_AGAIN_SECONDS = 5.0
"""A wish may have been swept away: that of a node that was not heard of for a while is."""


class Wish:
    """Written by the claims themselves, each of which is told what to say and then what came of it."""

    def __init__(self) -> None:
        self._said_at: float | None = None
        self._busy_since: float | None = None
        self.flood = Flood()

    @property
    def stands(self) -> bool:
        """Whether it was said, and nothing is known that took it back."""
        return self._said_at is not None

    def to_say(self, now: float) -> bool | None:
        """True says it, where little is found; False takes it back; None leaves it as it is."""
        if self.flood.lasts:
            return False if self.stands else None
        if self._said_at is None or now - self._said_at >= _SAY_AGAIN_SECONDS:
            return True
        if self._busy_since is not None and now - self._busy_since >= _BUSY_SECONDS:
            return True  # if much is found once more, that takes it back
        return None

    def heard(self, said: bool | None, got: int, want: int, now: float) -> None:
        """A claim for `want` jobs that said so brought `got` of them."""
        self.flood.note_found(got)
        if got < min(want, FEW):
            self._busy_since = None
            if said:
                self._said_at = now
        else:
            if self._busy_since is None:
                self._busy_since = now
            if said:
                self._said_at = None
        if said is False:
            self._said_at = None

    def forget(self) -> None:
        """Nobody knows whether it still stands."""
        self._said_at = None
        self.flood = Flood()
