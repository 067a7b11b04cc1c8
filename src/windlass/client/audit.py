"""What a client does with the audit: read it, and check that nobody has changed it."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from windlass.client.core import Core, TenantName, as_count, as_id, as_names, optional_moment
from windlass.client.effects import Operation
from windlass.db import rpc_audit, rpc_operator
from windlass.errors import InvalidInput
from windlass.model import AuditFault, AuditPage, AuditReport, Event, Page
from windlass.model.event import check_actions

__all__ = ["AuditOperations"]

_INSTALLATION = UUID(int=0)
_PAGE = 10_000


class AuditOperations(Core):
    """A tenant that is not given is the client's own; the installation has an audit of its own."""

    def _audited(self, tenant: TenantName | None, *, installation: bool) -> Operation[UUID]:
        if installation and tenant is not None:
            raise InvalidInput("give either a tenant or installation, and not both")
        return _INSTALLATION if installation else (yield from self._tenant(tenant))

    def list_events(
        self,
        *,
        tenant: TenantName | None = None,
        installation: bool = False,
        by: str | None = None,
        actions: str | Iterable[str] | None = None,
        job: UUID | str | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Operation[Page[Event]]:
        """The audit of a tenant (the client's own by default) or of the installation itself.

        Deeds and deaths stand in the order of their time, the latest first.  Any other end of a job stands
        where the job was enqueued, however late it came: `from_` finds all that happened since.
        """
        names = as_names(actions)
        tenant_id = yield from self._audited(tenant, installation=installation)
        call = rpc_operator.list_events(
            tenant_id,
            actor=by,
            actions=None if names is None else check_actions(names),
            job=None if job is None else as_id(job),
            from_=optional_moment(from_, "from_"),
            to=optional_moment(to, "to"),
            limit=as_count(limit),
            cursor=cursor,
        )
        return (yield from self._safely(call))

    def verify_audit(
        self,
        *,
        tenant: TenantName | None = None,
        installation: bool = False,
        known: str | None = None,
        progress: Callable[[int], object] | None = None,
        page: int = _PAGE,
    ) -> Operation[AuditReport]:
        """Check the whole audit of a tenant or of the installation; what is wrong first is in the report.

        `known` is a head from an earlier report, through which the chain must still lead.  `progress` is
        called after every page with the number of rows that were looked at so far.
        """
        tenant_id = yield from self._audited(tenant, installation=installation)
        report, checked, cursor = AuditReport(tenant_id=tenant_id), 0, None
        while True:
            call = rpc_audit.verify_audit(tenant_id, cursor, page, known)
            found: AuditPage = yield from self._safely(call)
            report, checked, cursor = _add(report, found), checked + found.checked, found.cursor
            if progress is not None:
                progress(checked)
            if cursor is None:
                return report


def _add(report: AuditReport, page: AuditPage) -> AuditReport:
    return replace(
        report,
        sealed=report.sealed if page.sealed is None else page.sealed,
        head=page.head or report.head,
        unsealed=report.unsealed + (page.unsealed or 0),
        fault=AuditFault.of(page),
    )
