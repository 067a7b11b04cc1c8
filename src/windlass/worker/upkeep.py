"""A thread with a connection of its own, for what must not wait while a handler blocks the event loop.

It renews the leases every third of their time, gives the node's sign of life, and stands in for the loop
while that is blocked.
"""

import threading
from collections.abc import Callable
from typing import Any

from windlass.db.call import Call
from windlass.db.link import SyncLink
from windlass.db.rpc import Heard, renew_leases
from windlass.errors import WindlassError
from windlass.worker.leases import Leases, elapsed_clock
from windlass.worker.outage import Outage
from windlass.worker.signals import Signals
from windlass.worker.stand_in import StandIn

__all__ = ["Upkeep"]

HEARTBEAT_SECONDS = 10.0


class Upkeep:
    """Calls `lost` with tokens that are no longer ours, `cancel` with (token, job) pairs, `gated` with the
    code and the pairs of jobs behind a gate, and `known` after each heartbeat; all in its thread.

    What it cannot renew until it has run out by our own clock is lost too: somebody else may hold it.
    """

    def __init__(
        self,
        link: SyncLink,
        leases: Leases,
        lease_seconds: float,
        *,
        lost: Callable[[list[bytes]], None],
        cancel: Callable[[list[tuple[bytes, bytes]]], None],
        gated: Callable[[str, list[tuple[bytes, bytes]]], None],
        heartbeat: Call[Any],
        known: Callable[[], None],
        stand_in: StandIn,
        signals: Signals,
    ) -> None:
        self._link = link
        self._leases = leases
        self._lease_seconds = lease_seconds
        self._lost = lost
        self._cancel = cancel
        self._gated = gated
        self._heartbeat = heartbeat
        self._known = known
        self._stand_in = stand_in
        self._signals = signals
        cap = min(2.0, lease_seconds / 10)
        self._renewing = Outage("renewing leases", signals, cap=cap)
        self._beating = Outage("heartbeat", signals, cap=cap)
        self._standing_in = Outage("standing in for the event loop", signals, cap=cap)
        self._stopping = threading.Event()
        self._nudged = threading.Event()
        self._next_renewal = self._next_heartbeat = self._next_look = 0.0
        self._renewal_asked = self._look_asked = False
        """Taken back before it is done: who asks while it is under way has it done once more."""
        self._asked_at: float | None = None
        self._thread = threading.Thread(target=self._run, name="windlass upkeep", daemon=True)
        self._watch = threading.Thread(target=self._watch_over, name="windlass upkeep watch", daemon=True)
        self.renewals = 0
        """How many renewals were answered."""

    @property
    def mismatch(self) -> bool:
        """Whether leases cannot be renewed, because the database is of another release."""
        return self._renewing.mismatch

    def start(self) -> None:
        self._next_heartbeat = elapsed_clock()
        self._next_renewal = self._next_heartbeat + self._lease_seconds / 3
        self._thread.start()
        self._watch.start()

    def stop(self, timeout: float) -> None:
        """Ask the thread to end, and wait for that; stuck in a dead connection, it is left behind."""
        self._stopping.set()
        self._nudged.set()
        self._thread.join(timeout)

    def renew_soon(self) -> None:
        """Renew at once, to hear what there is to hear; from any thread."""
        self._renewal_asked = True
        self._nudged.set()

    def ask_stop(self) -> None:
        """From any thread: the node is to stop, and a blocked loop cannot know that."""
        if not self._stand_in.stop_asked:
            self._stand_in.stop_asked = True
            self._look_soon()

    def leave(self, seconds: float) -> bool:
        """From any thread: give back all that is held, since the loop is blocked and the process ends.

        Whether that was done, within so many seconds.
        """
        self._stand_in.leaving = True
        self._look_soon()
        return self._stand_in.left.wait(seconds)

    def _look_soon(self) -> None:
        self._look_asked = True
        self._nudged.set()

    def _run(self) -> None:
        try:
            while True:
                self._nudged.wait(self._pause())
                if self._stopping.is_set():
                    break
                self._nudged.clear()
                self._turn()
        finally:
            self._link.close()

    def _pause(self) -> float:
        return max(0.0, min(self._next_renewal, self._next_heartbeat, self._next_look) - elapsed_clock())

    def _turn(self) -> None:
        now = elapsed_clock()
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + self._try(self._beat, self._beating, HEARTBEAT_SECONDS)
        now = elapsed_clock()
        if self._renewal_asked or now >= self._next_renewal:
            self._renewal_asked = False
            self._next_renewal = now + self._try(self._renew, self._renewing, self._lease_seconds / 3)
        if self._look_asked or now >= self._next_look:
            look, self._look_asked = self._stand_in, False
            self._next_look = now + self._try(look.look, self._standing_in, look.interval)
        self._give_up_expired()

    def _give_up_expired(self) -> None:
        if expired := self._leases.expired():
            try:
                self._lost(expired)
            except Exception as error:  # renewal goes on, whatever went wrong here
                self._signals.fault("upkeep", error)

    def _watch_over(self) -> None:
        """A call may hang, in a database that neither answers nor hangs up.

        Leases then run out all the same, and a call that has taken a third of their time is broken off.
        """
        while not self._stopping.wait(self._lease_seconds / 10):
            self._give_up_expired()
            asked_at = self._asked_at
            if asked_at is not None and elapsed_clock() - asked_at > max(1.0, self._lease_seconds / 3):
                self._link.interrupt()

    def _try(self, duty: Callable[[], bool], outage: Outage, interval: float) -> float:
        """Do it; the answer says in how many seconds to do it again, soon if it is not done."""
        self._asked_at = elapsed_clock()
        try:
            done = duty()
        except WindlassError as error:
            return outage.failed(error)
        except Exception as error:
            self._signals.fault("upkeep", error)
            return min(interval, 1.0)
        finally:
            self._asked_at = None
        outage.over()
        return interval if done else min(interval / 10, 1.0)

    def _beat(self) -> bool:
        if not self._stand_in.leaving:  # it would take the farewell back
            self._link.run(self._heartbeat)
            self._known()
        return True

    def _renew(self) -> bool:
        """Renew all leases; False if some were busy, because a report on them was under way."""
        tokens, now = self._leases.tokens(), elapsed_clock()
        busy: set[bytes] = set()
        if tokens:
            heard = self._link.run(renew_leases(tokens, self._lease_seconds))
            gone = {word.token.bytes for word in heard if word.code == "lease_lost"}
            busy = {word.token.bytes for word in heard if word.code == "busy"}
            self._leases.renewed([token for token in tokens if token not in gone | busy], now)
            self._tell(heard, list(gone))
        self.renewals += 1
        return not busy

    def _tell(self, heard: list[Heard], gone: list[bytes]) -> None:
        if gone:
            self._lost(gone)
        wanted: dict[str, list[tuple[bytes, bytes]]] = {}
        for word in heard:
            if word.job_id is not None:
                wanted.setdefault(word.code, []).append((word.token.bytes, word.job_id.bytes))
        if canceled := wanted.pop("cancel_requested", None):
            self._cancel(canceled)
        for code, jobs in wanted.items():
            self._gated(code, jobs)
