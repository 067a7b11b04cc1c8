"""What a node says of itself again and again: that it is there, and what it takes."""

import os
import socket
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from windlass.db.call import Call
from windlass.db.rpc_node import heartbeat_node
from windlass.worker.release import release

__all__ = ["greeting"]


def greeting(
    node_id: UUID, name: str, *, queues: Sequence[str], kinds: Sequence[str], concurrency: int
) -> Call[Any]:
    """The sign of life of a worker in this process."""
    return heartbeat_node(
        node_id,
        name,
        host=socket.gethostname(),
        pid=os.getpid(),
        version=release(),
        queues=queues,
        kinds=kinds,
        concurrency=concurrency,
    )
