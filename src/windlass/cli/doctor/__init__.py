"""`windlass doctor`: look at an installation, say what is wrong and what to do about it."""

from windlass.cli.doctor.command import app

__all__ = ["app"]
