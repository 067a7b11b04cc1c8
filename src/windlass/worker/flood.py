"""Notices that come so fast that they hold up those who send them: then a worker looks by itself, often."""

from collections import deque

__all__ = ["FLOOD", "Flood"]

FLOOD = 100
"""So many notices within a second, whomever they are for: senders commit one behind the other."""
_CALM = FLOOD / 2
_WINDOW_SECONDS = 1.0
_LOOK_SECONDS, _LONGEST_LOOK_SECONDS = 0.005, 0.1


class Flood:
    """Whether there is one, and how often to look for jobs while it lasts.

    Every node hears every notice, so all see a flood at once, and each can tell from the share that is for it
    how many they are: together they look as often as one would alone.
    """

    def __init__(self) -> None:
        self._notices: deque[tuple[float, bool]] = deque(maxlen=FLOOD)
        self._since: float | None = None
        self._found = 0
        self._nodes = 1.0

    @property
    def lasts(self) -> bool:
        """As it was when it was last judged."""
        return self._since is not None

    @property
    def look_seconds(self) -> float:
        """How long to wait between two looks."""
        return min(_LOOK_SECONDS * self._nodes, _LONGEST_LOOK_SECONDS)

    def note_notice(self, now: float, *, own: bool) -> None:
        self._notices.append((now, own))

    def note_found(self, jobs: int) -> None:
        self._found += jobs

    def judge(self, now: float) -> bool:
        """Whether it lasts, begins or is over by now."""
        if self._since is None:
            if self._comes(now):
                self._begin_window(now)
        elif (passed := now - self._since) >= _WINDOW_SECONDS:
            if self._found * self._nodes / passed < _CALM:
                self._since = None
            else:
                self._begin_window(now)
        return self.lasts

    def _comes(self, now: float) -> bool:
        """Of those for others it hears, too, but theirs are no reason to look by itself."""
        if len(self._notices) < FLOOD or now - self._notices[0][0] > _WINDOW_SECONDS:
            return False
        own = sum(own for _, own in self._notices)
        if own < 2:
            return False
        self._nodes = FLOOD / own
        self._notices.clear()
        return True

    def _begin_window(self, now: float) -> None:
        self._since, self._found = now, 0
