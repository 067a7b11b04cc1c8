from windlass.testing.clock import Clock
from windlass.testing.server import TemporaryDatabase, TemporaryServer

__all__ = ["Clock", "TemporaryDatabase", "TemporaryServer"]
