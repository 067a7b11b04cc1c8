"""Which database stands in for which: what `app.at` said in a worker's process holds in its children too.

A child imports applications anew, and knows nothing of what was said to those of its worker.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from windlass.db.connect import Pooler
from windlass.settings import Settings

__all__ = ["Detours", "Place", "detoured", "detours_for", "follow", "going_by"]


class Place(NamedTuple):
    """A database, and the settings that lead to it."""

    database_url: str
    listen_url: str | None = None
    pooler: Pooler = "none"


Detours: TypeAlias = Mapping[str | None, Place]
"""By the database that an application names itself; None is for those that name none."""

_current: list[tuple[str | None, Place]] = []  # the blocks of this process, innermost last
_told: dict[str | None, Place] = {}  # in a child, by its worker


@contextmanager
def going_by(named: str | None, place: Place) -> Iterator[None]:
    """Within the block an application that names `named` is at `place`; its children are to know."""
    entry = (named, place)
    _current.append(entry)
    try:
        yield
    finally:
        _current.remove(entry)


def detours_for(named: str | None, place: Place) -> Detours:
    """What the children of a worker at `place` are told, of whose application the database is `named`.

    Where that one was led elsewhere, so is whatever has no database of its own: a child that is meant for a
    test must not find the one of the environment.
    """
    found = {**_told, **dict(_current), named: place}
    if place.database_url != named:
        found.setdefault(None, place)
    return found


def follow(detours: Detours) -> None:
    """In a child, before it imports anything: what its worker told it."""
    _told.clear()
    _told.update(detours)


def detoured(settings: Settings, named: str | None) -> Settings:
    """The settings of an application that names `named`, in a child those that lead where its worker said."""
    place = _told.get(named)
    return settings if place is None else settings.model_copy(update=place._asdict())
