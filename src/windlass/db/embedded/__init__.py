"""The default PostgreSQL: found, started, shared and stopped without set-up."""

from windlass.db.embedded.ensure import Database, ensure_server
from windlass.db.embedded.providers import Provider, find_providers
from windlass.db.embedded.server import EmbeddedServer

__all__ = ["Database", "EmbeddedServer", "Provider", "ensure_server", "find_providers"]
