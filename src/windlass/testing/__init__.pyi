from windlass.testing.clock import Clock
from windlass.testing.due import Ran, run_due, run_due_sync
from windlass.testing.look import assert_enqueued, assert_not_enqueued, jobs
from windlass.testing.server import TemporaryDatabase, TemporaryServer

__all__ = [
    "Clock",
    "Ran",
    "TemporaryDatabase",
    "TemporaryServer",
    "assert_enqueued",
    "assert_not_enqueued",
    "jobs",
    "run_due",
    "run_due_sync",
]
