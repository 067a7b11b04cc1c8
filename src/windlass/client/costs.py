"""What a client asks the ledger: what jobs cost, entry by entry or added up."""

from collections.abc import Iterable
from datetime import date, datetime
from uuid import UUID

from windlass.client.core import Core, TenantName, as_count, as_id, as_names
from windlass.client.effects import Operation
from windlass.db import rpc_costs
from windlass.errors import InvalidInput
from windlass.model.cost import CostEntry, Costs
from windlass.model.names import shown

__all__ = ["CostOperations"]


class CostOperations(Core):
    """Costs are cents; a day is one of UTC."""

    def list_costs(
        self,
        *,
        by: str | Iterable[str] = "kind",
        since: date | None = None,
        until: date | None = None,
        queues: str | Iterable[str] | None = None,
        kinds: str | Iterable[str] | None = None,
        limit: int = 1000,
        all_tenants: bool = False,
        tenant: TenantName | None = None,
    ) -> Operation[Costs]:
        """Costs from the day `since` on and before `until`, added up by any of tenant, queue, kind and day.

        Of one tenant (the client's own by default) or of all.  They are exact at this moment, also where
        the jobs themselves are no longer kept.
        """
        if all_tenants and tenant is not None:
            raise InvalidInput("give either a tenant or all_tenants, and not both")
        tenant_id = None if all_tenants else (yield from self._tenant(tenant))
        call = rpc_costs.list_costs(
            tenant_id,
            since=_day(since, "since"),
            until=_day(until, "until"),
            by=as_names(by) or [],
            queues=as_names(queues),
            kinds=as_names(kinds),
            limit=as_count(limit),
        )
        return (yield from self._safely(call))

    def list_job_costs(
        self, job_id: UUID | str, *, limit: int = 1000, tenant: TenantName | None = None
    ) -> Operation[list[CostEntry]]:
        """What the job cost so far, entry by entry; of very many the latest."""
        tenant_id = yield from self._tenant(tenant)
        return (yield from self._safely(rpc_costs.list_job_costs(tenant_id, as_id(job_id), as_count(limit))))


def _day(given: date | None, what: str) -> date | None:
    if isinstance(given, datetime) or not isinstance(given, date | None):
        raise InvalidInput(f"{what} is a day such as date(2030, 1, 31), not {shown(given)}")
    return given
