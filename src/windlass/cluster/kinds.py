"""Which kinds of cluster job are known here: the local work of each, and its leader's action."""

from collections.abc import Iterator
from dataclasses import dataclass

from windlass.errors import InvalidInput
from windlass.model.cluster import OnCrash, OnTimeout, Quorum
from windlass.worker.registry import JobDefinition, Registry

__all__ = ["ClusterKind", "ClusterKinds"]


@dataclass(slots=True)
class ClusterKind:
    """One kind; `local` is None where there is only the leader's action."""

    kind: str
    local: JobDefinition | None
    action: JobDefinition
    quorum: Quorum = "majority"
    quorum_timeout: float = 10.0
    on_timeout: OnTimeout = "proceed"
    on_crash: OnCrash = "requeue"


class ClusterKinds:
    """The kinds of cluster job of an application."""

    def __init__(self) -> None:
        self._kinds: dict[str, ClusterKind] = {}

    def add(self, kind: ClusterKind) -> ClusterKind:
        """Make a kind known; each is known once."""
        known = self._kinds.setdefault(kind.kind, kind)
        if known is not kind:
            raise InvalidInput(f"the kind {kind.kind!r} is a cluster job already")
        return kind

    def local_work(self) -> Registry:
        """What nodes run as their parts."""
        registry = Registry()
        for kind in self:
            if kind.local is not None:
                registry.add(kind.local)
        return registry

    def with_actions(self, jobs: Registry) -> Registry:
        """What a worker runs: ordinary jobs, and the leader's actions."""
        registry = Registry()
        for definition in (*jobs, *(kind.action for kind in self)):
            registry.add(definition)
        return registry

    def get(self, kind: str) -> ClusterKind | None:
        return self._kinds.get(kind)

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._kinds))

    def __iter__(self) -> Iterator[ClusterKind]:
        return iter(tuple(self._kinds.values()))

    def __len__(self) -> int:
        return len(self._kinds)
