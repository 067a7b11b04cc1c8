"""A node's turns in the cluster, from a thread of their own.

A handler that blocks the event loop costs neither the leadership nor the lease of a part.
"""

import logging
import random
import threading
from collections.abc import Callable, Sequence
from uuid import UUID

from windlass.cluster.parts import Parts
from windlass.db.link import SyncLink
from windlass.db.rpc_cluster import claim_parts, renew_parts, tend_cluster
from windlass.errors import Forbidden, WindlassError
from windlass.model.cluster import Standing
from windlass.worker.leases import Leases, elapsed_clock
from windlass.worker.outage import Outage
from windlass.worker.signals import Signals

__all__ = ["Pulse"]

_UNKNOWN_PAUSE = 0.05


class Pulse:
    """Takes the node's turn at every poll interval, and at once when woken; claims parts and renews them.

    While no cluster job is unfinished and `listening` says that a notice would be heard, turns are taken for
    the leases only: its own, and the leader's when that runs out.  `told` hears, in this thread, what each
    turn came to.
    """

    def __init__(
        self,
        link: SyncLink,
        node_id: UUID,
        parts: Parts,
        leases: Leases,
        *,
        address: str | None,
        kinds: Sequence[str],
        local_kinds: Sequence[str],
        lease_seconds: float,
        poll_seconds: float,
        told: Callable[[Standing], None],
        listening: Callable[[], bool],
        signals: Signals,
    ) -> None:
        self._link = link
        self._node_id = node_id
        self._parts = parts
        self._leases = leases
        self._address = address
        self._kinds = tuple(kinds)
        self._local_kinds = tuple(local_kinds)
        self._lease_seconds = lease_seconds
        # A node without cluster jobs only listens for a word to drain.
        self._interval = poll_seconds if kinds else max(poll_seconds, lease_seconds / 3)
        self._calm_interval = max(poll_seconds, lease_seconds / (3 if kinds else 1))
        self._told = told
        self._listening = listening
        self._signals = signals
        self._outage = Outage("cluster", signals, cap=min(2.0, lease_seconds / 10))
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._asked_at: float | None = None
        self._next_renewal = 0.0
        self._was: Standing | None = None
        self._thread = threading.Thread(target=self._run, name="windlass cluster", daemon=True)
        self._watch = threading.Thread(target=self._watch_over, name="windlass cluster watch", daemon=True)
        self.standing = True
        """Whether this node would lead and takes new parts."""
        self.turns = 0
        """How many turns were answered."""

    def start(self) -> None:
        self._thread.start()
        self._watch.start()

    @property
    def alive(self) -> bool:
        """Whether it takes turns: from start to stop, unless its role may not."""
        return self._thread.is_alive()

    def wake(self) -> None:
        """Take the next turn now."""
        self._woken.set()

    def stop(self, timeout: float) -> None:
        """End, and wait for that; stuck in a dead connection, it is left behind."""
        self._stopping.set()
        self._woken.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._woken.clear()
                self._woken.wait(self._try())
        finally:
            self._link.close()

    def _try(self) -> float:
        self._asked_at = elapsed_clock()
        try:
            pause = self._turn()
        except Forbidden as error:
            self._give_up(error)
            self._stopping.set()
            return 0.0
        except WindlassError as error:
            return self._outage.failed(error)
        except Exception as error:
            self._signals.fault("cluster", error)
            return 1.0
        finally:
            self._asked_at = None
        self._outage.over()
        return pause

    def _give_up(self, error: Forbidden) -> None:
        """To a node without cluster jobs it is no loss that its role may not take part in them."""
        self._signals.worker(
            "cluster.forbidden",
            logging.WARNING if self._kinds else logging.DEBUG,
            message=f"cluster: {error.message}; this node takes no part in cluster jobs",
            code=error.code,
        )

    def _turn(self) -> float:
        self._renew()
        turn = tend_cluster(
            self._node_id,
            address=self._address,
            kinds=self._kinds,
            local_kinds=self._local_kinds,
            lease_seconds=self._lease_seconds,
            stand=self.standing,
        )
        now = self._link.run(turn)
        self.turns += 1
        if now is None:  # not known yet, or stopped
            return _UNKNOWN_PAUSE if self.standing else self._interval
        elected = self._note(now)
        if now.parts:
            self._claim()
        self._told(now)
        return 0.0 if elected else self._pause(now)

    def _pause(self, now: Standing) -> float:
        if not self._listening() or (now.busy and self._kinds):
            return self._interval * random.uniform(0.8, 1.0)
        pause = self._calm_interval * random.uniform(1.0, 1.1)  # a lease is written after a third of it
        if now.leads or now.leader_id is None or not self._kinds:
            return pause
        spread = random.uniform(0.0, self._lease_seconds / 100)  # not all the others at once
        return min(pause, max(_UNKNOWN_PAUSE, now.leader_seconds + spread))

    def _note(self, now: Standing) -> bool:
        """Tell of a change; True for a leader whose duties begin with its next turn."""
        was, self._was = self._was, now
        leads, led = now.leads, was is not None and was.leads
        if leads != led:
            name = "leader.elected" if leads else "leader.lost"
            self._signals.worker(name, logging.INFO, term=now.term, leader=now.leader_name)
        return leads and not led

    def _claim(self) -> None:
        room = self._parts.room()
        if room <= 0 or not self.standing:
            return
        since = elapsed_clock()
        parts = self._link.run(claim_parts(self._node_id, self._local_kinds, room, self._lease_seconds))
        if parts:
            self._parts.expect(parts, since)

    def _renew(self) -> None:
        self._give_up_expired()
        tokens, now = self._leases.tokens(), elapsed_clock()
        if not tokens or now < self._next_renewal:
            return
        lost = self._link.run(renew_parts([UUID(bytes=token) for token in tokens], self._lease_seconds))
        gone = {token.bytes for token in lost}
        self._next_renewal = now + self._lease_seconds / 3
        self._leases.renewed([token for token in tokens if token not in gone], now)
        if gone:
            self._parts.hear_lost(gone)

    def _give_up_expired(self) -> None:
        if expired := self._leases.expired():
            self._parts.hear_lost(expired)

    def _watch_over(self) -> None:
        """A call may hang, in a database that neither answers nor hangs up: leases run out all the same."""
        while not self._stopping.wait(self._lease_seconds / 10):
            self._give_up_expired()
            asked_at = self._asked_at
            if asked_at is not None and elapsed_clock() - asked_at > max(1.0, self._lease_seconds / 3):
                self._link.interrupt()
