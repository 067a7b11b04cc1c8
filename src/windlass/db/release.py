"""Which release this is, and whether another one is newer."""

import re
from importlib import metadata

__all__ = ["RELEASE", "is_newer"]


def _installed() -> str:
    try:
        return metadata.version("windlass-jobs")
    except metadata.PackageNotFoundError:  # run from its sources, without being installed
        return "0"


RELEASE = _installed()


def is_newer(release: str | None, than: str = RELEASE) -> bool:
    """By the numbers alone; a release that is not known is not newer."""
    return _numbers(release or "0") > _numbers(than)


def _numbers(release: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", release)
    return tuple(map(int, found[0].split("."))) if found else ()
