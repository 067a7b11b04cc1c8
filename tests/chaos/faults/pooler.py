"""A worker behind PgBouncer in transaction mode, which is itself restarted."""

import subprocess

from tests.chaos.faults.base import Fault
from tests.chaos.site import Slot
from tests.pooler import PROGRAM, start_pgbouncer

__all__ = ["Pooler"]


class Pooler(Fault):
    """One more worker lives behind a transaction pooler; the fault is the pooler's own restart."""

    name = "pooler"
    leases = 0.5
    _slot: Slot | None = None
    _process: subprocess.Popen[bytes] | None = None

    def absent(self) -> str | None:
        if PROGRAM is None:
            return "pgbouncer is not installed"
        return "it knows one server only" if self.site.standby is not None else None

    def prepare(self) -> None:
        self._directory = self.site.short / "b"
        self._directory.mkdir()
        self._start()
        url = f"postgresql://windlass_app@/windlass?host={self._directory}&port=6432"
        self._slot = self.site.open_slot("pooled", url, pooler="transaction")

    def start(self) -> None:
        self._stop()

    def heal(self) -> None:
        if self._process is None:
            self._start()

    def describe(self) -> str:
        return "PgBouncer of the worker `pooled` killed and started"

    def close(self) -> None:
        self._stop()

    def _start(self) -> None:
        self._process = start_pgbouncer(self._directory, self.site.primary.socket_dir)

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for left in self._directory.glob(".s.PGSQL.*"):
                left.unlink()
