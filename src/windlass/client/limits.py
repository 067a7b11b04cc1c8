"""What a client does with limits: set, clear and list them."""

from collections.abc import Iterable
from datetime import timedelta

from windlass.client.core import TenantName, as_names
from windlass.client.effects import Operation, asking
from windlass.client.installation import InstallationOperations
from windlass.db import rpc_limits
from windlass.errors import InvalidInput
from windlass.model.limit import LIMITED, BudgetPeriod, Limit, NewLimit
from windlass.model.names import shown

__all__ = ["LimitOperations"]


class LimitOperations(InstallationOperations):
    """A scope is a tenant, a queue, a kind or any of them together; with none given, all jobs."""

    def set_limit(
        self,
        *,
        tenant: TenantName | None = None,
        queue: str | None = None,
        kind: str | None = None,
        concurrency: int | None = None,
        rate: int | None = None,
        per: float | timedelta | None = None,
        burst: int | None = None,
        depth: int | None = None,
        budget_cents: int | None = None,
        warn_cents: int | None = None,
        budget_period: BudgetPeriod | None = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Operation[int]:
        """Limit how many jobs of a scope run, start or wait, or what they cost; the limit's id.

        `rate=100, per=60` lets a hundred start in a minute; `burst` (the rate, unless given) is how many of
        them may start at once.  What is not given stays as it was.
        """
        new = NewLimit(
            queue=queue,
            kind=kind,
            concurrency=concurrency,
            rate=rate,
            per=per,
            burst=burst,
            depth=depth,
            budget_cents=budget_cents,
            warn_cents=warn_cents,
            budget_period=budget_period,
        )
        tenant_id = yield from self._tenant_or_all(tenant)
        call = rpc_limits.set_limit(tenant_id, new, reason=reason, actor=self._actor(actor))
        return (yield from self._safely(call))

    def clear_limit(
        self,
        *,
        tenant: TenantName | None = None,
        queue: str | None = None,
        kind: str | None = None,
        what: str | Iterable[str] | None = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Operation[int]:
        """Take back the limit of exactly this scope, or of it only `what`; NotFound if there is none.

        `what` is any of concurrency, rate, depth and budget.
        """
        names = as_names(what)
        if names is not None and (not names or set(names) - set(LIMITED)):
            raise InvalidInput(f"what is cleared is any of {', '.join(LIMITED)}, not {shown(what)}")
        tenant_id = yield from self._tenant_or_all(tenant)
        call = rpc_limits.clear_limit(tenant_id, queue, kind, names, reason=reason, actor=self._actor(actor))
        return (yield from asking(call))

    def list_limits(self, *, tenant: TenantName | None = None) -> Operation[list[Limit]]:
        """The limits with what is used of them: all, or those that hold something of one tenant."""
        tenant_id = yield from self._tenant_or_all(tenant)
        return (yield from self._safely(rpc_limits.list_limits(tenant_id)))
