"""The last word of a node: that it has stopped.  Without it a node is listed as active for a while yet."""

from contextlib import suppress
from uuid import UUID

from windlass.db.link import AsyncLink
from windlass.db.rpc_node import stop_node
from windlass.errors import Unavailable, WindlassError

__all__ = ["say_farewell"]


async def say_farewell(link: AsyncLink, node_id: UUID) -> None:
    """Say it, and if the database cannot be told, go without."""
    with suppress(WindlassError):
        try:
            await link.run(stop_node(node_id))
        except Unavailable:
            # A connection that died while it was idle shows it only now, and the next is a fresh one.
            await link.run(stop_node(node_id))
