"""An application: typed functions that are jobs, and everything that can be done with them."""

from windlass.app.application import Windlass
from windlass.app.cluster import ClusterFunction, LeaderFunction
from windlass.app.function import Enqueuer, JobFunction, JobOptions

__all__ = ["ClusterFunction", "Enqueuer", "JobFunction", "JobOptions", "LeaderFunction", "Windlass"]
