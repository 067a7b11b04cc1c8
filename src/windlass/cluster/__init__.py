"""What nodes do together: each of these may run in every node, at the same time."""

from windlass.cluster.context import LeaderContext
from windlass.cluster.costs import Bookkeeper
from windlass.cluster.kinds import ClusterKind, ClusterKinds
from windlass.cluster.lanes import LaneKeeper
from windlass.cluster.maintenance import Maintainer, Pruner
from windlass.cluster.member import Member
from windlass.cluster.reaper import Reaper
from windlass.cluster.sealer import Sealer
from windlass.cluster.services import TendingWorker, make_services
from windlass.cluster.start import await_schema
from windlass.cluster.worker import ClusterWorker

__all__ = [
    "Bookkeeper",
    "ClusterKind",
    "ClusterKinds",
    "ClusterWorker",
    "LaneKeeper",
    "LeaderContext",
    "Maintainer",
    "Member",
    "Pruner",
    "Reaper",
    "Sealer",
    "TendingWorker",
    "await_schema",
    "make_services",
]
