"""How the jobs stand, read from the database."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from windlass.client import AsyncClient
from windlass.model import Job, Node

__all__ = ["COLUMNS", "Tally", "read_jobs", "read_tally"]

COLUMNS = ("queued", "scheduled", "retrying", "running", "succeeded", "dead", "canceled")
_ENDED = ("succeeded", "dead", "canceled", "skipped")


@dataclass(frozen=True, slots=True)
class Tally:
    """Jobs by tenant and state, and the nodes that work on them, at one moment."""

    states: Mapping[str, Counter[str]] = field(default_factory=dict)
    nodes: Sequence[Node] = ()

    def count(self, *states: str, tenant: str | None = None) -> int:
        counters = self.states.values() if tenant is None else [self.states.get(tenant, Counter())]
        return sum(counter[state] for counter in counters for state in states)

    def total(self, tenant: str | None = None) -> int:
        counters = self.states.values() if tenant is None else [self.states.get(tenant, Counter())]
        return sum(counter.total() for counter in counters)

    def ended(self, tenant: str | None = None) -> int:
        return self.count(*_ENDED, tenant=tenant)

    def in_words(self) -> str:
        """Such as `12 queued, 3 running, 40 succeeded`."""
        return ", ".join(f"{self.count(name)} {name}" for name in COLUMNS if self.count(name)) or "no jobs"


async def read_jobs(client: AsyncClient, tenants: Iterable[str]) -> dict[str, list[Job]]:
    """Every job of these tenants."""
    return {tenant: [job async for job in client.iterate_jobs(tenant=tenant)] for tenant in tenants}


async def read_tally(client: AsyncClient, tenants: Iterable[str]) -> Tally:
    jobs = await read_jobs(client, tenants)
    states = {tenant: Counter(job.shown_state for job in found) for tenant, found in jobs.items()}
    return Tally(states, await client.list_nodes())
