"""A worker whose notices reach the cluster too: one listening connection serves both."""

from collections.abc import Callable
from typing import Any

from windlass.worker.system import SystemWorker

__all__ = ["ClusterWorker"]


class ClusterWorker(SystemWorker):
    """Calls `woken` with each notice that names this node, and whenever notices may have been missed."""

    def __init__(self, *args: Any, woken: Callable[[], None], **options: Any) -> None:
        super().__init__(*args, **options)
        self._woken = woken

    def _notice(self, node: str | None) -> None:
        super()._notice(node)
        if node is None or node == str(self.node_id):
            self._woken()
