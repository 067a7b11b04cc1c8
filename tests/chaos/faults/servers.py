"""The database server dies."""

import signal

from tests.chaos.faults.base import Fault

__all__ = ["Crash", "Failover", "Restart"]


class Crash(Fault):
    """Immediate shutdown, with everything in flight; the next start recovers from the log."""

    name = "crash"
    leases = 0.3

    def start(self) -> None:
        self.site.primary.stop(signal.SIGQUIT)

    def heal(self) -> None:
        if not self.site.primary.running:
            self.site.primary.start()

    def describe(self) -> str:
        return "immediate shutdown and crash recovery"


class Restart(Crash):
    """An orderly restart, as in an upgrade: sessions are ended, nothing needs recovery."""

    name = "restart"

    def start(self) -> None:
        self.site.primary.stop(signal.SIGINT)

    def describe(self) -> str:
        return "fast shutdown and start"


class Failover(Fault):
    """The primary is killed and the standby takes over; later a new standby is made."""

    name = "failover"
    leases = 1.0
    count = 0
    _attached = True

    def absent(self) -> str | None:
        return None if self.site.standby is not None else "this run has no standby (--standby sync)"

    def start(self) -> None:
        if not self._attached:
            self.heal()
        self._attached = False
        self.site.fail_over()
        self.count += 1

    def heal(self) -> None:
        if not self._attached:
            self.site.attach_standby()
            self._attached = True

    def describe(self) -> str:
        return f"primary killed, {self.site.primary.name} promoted"
