"""Which release of Windlass this is."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["release"]


def release() -> str:
    """The version of the installed distribution; of a source tree that was never installed, `unknown`."""
    try:
        return version("windlass-jobs")
    except PackageNotFoundError:
        return "unknown"
