"""Every fault that the harness knows, by name."""

from tests.chaos.faults.base import Fault
from tests.chaos.faults.clocks import ClockAhead, ClockBehind, ClockDrift
from tests.chaos.faults.disk import DiskFull
from tests.chaos.faults.handlers import Exit, OutOfMemory, Seize
from tests.chaos.faults.namespace import Namespace
from tests.chaos.faults.pooler import Pooler
from tests.chaos.faults.processes import Kill, Pause, Storm
from tests.chaos.faults.servers import Crash, Failover, Restart
from tests.chaos.faults.sessions import Limit, Sessions
from tests.chaos.faults.wires import Cut, Delay, HalfOpen, Refuse

__all__ = ["FAULTS", "Fault"]

FAULTS: dict[str, type[Fault]] = {
    fault.name: fault
    for fault in (
        *(Kill, Pause, Storm),
        *(Sessions, Limit),
        *(Crash, Restart, Failover),
        *(Cut, Delay, HalfOpen, Refuse, Namespace),
        *(ClockAhead, ClockBehind, ClockDrift, Pooler, DiskFull),
        *(Exit, OutOfMemory, Seize),
    )
}
