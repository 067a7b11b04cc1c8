"""From what the command line says to settings and a client."""

from typing import Any

from windlass.settings import Settings

__all__ = ["read_settings"]


def read_settings(database_url: str | None = None, **overrides: Any) -> Settings:
    """The environment's settings with what the command line says before them."""
    return Settings.from_env(database_url=database_url, **overrides)
