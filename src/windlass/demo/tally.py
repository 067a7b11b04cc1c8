"""How the jobs stand, read from the database at one moment."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from windlass.client import AsyncClient
from windlass.model import Job, Node

__all__ = ["COLUMNS", "Tally", "read_tally"]

COLUMNS = ("queued", "scheduled", "retrying", "running", "succeeded", "dead", "canceled")


@dataclass(frozen=True, slots=True)
class Tally:
    """Every job of each tenant, and the nodes that work on them or still hold some."""

    jobs: Mapping[str, Sequence[Job]] = field(default_factory=dict)
    nodes: Sequence[Node] = ()
    alive: frozenset[int] = frozenset()
    """The processes that are there; a node may be dead and nobody know it yet."""

    def all(self) -> Iterator[Job]:
        for jobs in self.jobs.values():
            yield from jobs

    def get(self, ids: Iterable[UUID]) -> list[Job]:
        wanted = set(ids)
        return [job for job in self.all() if job.id in wanted]

    def states(self, tenant: str | None = None) -> Counter[str]:
        """How many jobs are in each state, as people see it."""
        return Counter(job.shown_state for job in (self.all() if tenant is None else self.jobs[tenant]))

    def ended(self, tenant: str | None = None) -> int:
        return sum(job.state.terminal for job in (self.all() if tenant is None else self.jobs[tenant]))

    def in_words(self) -> str:
        """Such as `12 queued, 3 running, 40 succeeded`."""
        states = self.states()
        return ", ".join(f"{states[name]} {name}" for name in COLUMNS if states[name]) or "no jobs"


async def read_tally(client: AsyncClient, tenants: Iterable[str], alive: frozenset[int]) -> Tally:
    jobs = {tenant: [job async for job in client.iterate_jobs(tenant=tenant)] for tenant in tenants}
    nodes = [node for node in await client.list_nodes() if node.pid in alive or node.running]
    return Tally(jobs, sorted(nodes, key=lambda node: node.name), alive)
