"""`windlass bench`: how fast Windlass is on the database that is really used."""

from windlass.cli.bench.command import app

__all__ = ["app"]
