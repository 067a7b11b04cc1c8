"""Every workload, in the order in which they run."""

from collections.abc import Iterable

from bench.refusal import Refused
from bench.workloads import burden, drain, enqueue, features, held, living, pickup, tenants
from bench.workloads.workload import Workload

__all__ = ["WORKLOADS", "choose"]

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for module in (enqueue, drain, pickup, held, tenants, burden, living, features)
    for workload in module.WORKLOADS
}


def choose(names: Iterable[str] | None, *, everything: bool) -> list[Workload]:
    """Those named, in the registry's order; without names the core ones, or all."""
    if names is None:
        return [workload for workload in WORKLOADS.values() if workload.core or everything]
    wanted = {name.lower() for name in names}
    known = {name.lower(): workload for name, workload in WORKLOADS.items()}
    if unknown := wanted - known.keys():
        raise Refused(f"there is no workload {min(unknown)!r}; --list names them")
    return [workload for name, workload in known.items() if name in wanted]
