"""What nodes do together: each of these may run in every node, at the same time."""

from windlass.cluster.maintenance import Maintainer, Pruner
from windlass.cluster.reaper import Reaper

__all__ = ["Maintainer", "Pruner", "Reaper"]
