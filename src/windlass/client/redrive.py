"""What a client does with redrives that run as jobs: try one, start it, watch it, stop it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from windlass.client.core import Core, TenantName, as_count, as_id, as_names, optional_moment
from windlass.client.effects import Item, Operation
from windlass.db import rpc_redrive
from windlass.model import Page, uuid7
from windlass.model.names import as_list
from windlass.model.redrive import NewRedrive, Preview, Redrive

__all__ = ["RedriveOperations", "new_redrive"]


def new_redrive(
    *,
    jobs: Iterable[UUID | str] | None = None,
    kinds: str | Iterable[str] | None = None,
    queues: str | Iterable[str] | None = None,
    error_like: str | None = None,
    died_from: datetime | None = None,
    died_to: datetime | None = None,
    everything: bool = False,
    patch: Mapping[str, Any] | None = None,
    max_attempts: int | None = None,
    throttle: float | None = None,
    stop_rate: float | None = None,
    stop_after: int = 20,
) -> NewRedrive:
    """What is to be redriven, from what a caller may say; InvalidInput if it cannot be meant."""
    return NewRedrive(
        jobs=None if jobs is None else tuple(as_id(job) for job in as_list(jobs, "jobs")),
        kinds=_names(kinds),
        queues=_names(queues),
        error_like=error_like,
        died_from=optional_moment(died_from, "died_from"),
        died_to=optional_moment(died_to, "died_to"),
        everything=everything,
        patch=patch,
        max_attempts=max_attempts,
        throttle=throttle,
        stop_rate=stop_rate,
        stop_after=stop_after,
    )


class RedriveOperations(Core):
    """Each operation once: `effects` says how it is carried out."""

    def create_redrive(
        self,
        redrive: NewRedrive,
        *,
        expected: int | None = None,
        reason: str | None = None,
        actor: str | None = None,
        tenant: TenantName | None = None,
    ) -> Operation[UUID]:
        """Start a redrive as a job of its own, which survives its starter; its id, and that of its job.

        It revives the jobs that are dead by now.  `expected`, if they were counted, is for those who watch.
        """
        tenant_id = yield from self._tenant(tenant)
        call = rpc_redrive.create_redrive(
            tenant_id, redrive, id=uuid7(), expected=expected, reason=reason, actor=self._actor(actor)
        )
        return (yield from self._safely(call))

    def preview_redrive(
        self,
        redrive: NewRedrive,
        *,
        sample: int = 10,
        whole: bool = True,
        tenant: TenantName | None = None,
    ) -> Operation[Preview]:
        """How many jobs it would be for, and the first `sample` of them; nothing is changed.

        Not `whole`: only among the first 20,000 dead jobs, with the `cursor` if there are more.
        """
        tenant_id = yield from self._tenant(tenant)
        total = yield from self._page(tenant_id, redrive, sample, None)
        while whole and total.cursor is not None:
            total = yield from self._counted_on(tenant_id, redrive, sample, total)
        return total

    def iterate_preview(
        self, redrive: NewRedrive, *, sample: int = 10, tenant: TenantName | None = None
    ) -> Operation[None]:
        """The same, as it grows: after each page of 20,000 dead jobs what was found so far."""
        tenant_id = yield from self._tenant(tenant)
        total = yield from self._page(tenant_id, redrive, sample, None)
        yield Item(total)
        while total.cursor is not None:
            total = yield from self._counted_on(tenant_id, redrive, sample, total)
            yield Item(total)

    def _page(
        self, tenant_id: UUID, redrive: NewRedrive, sample: int, after: UUID | None
    ) -> Operation[Preview]:
        call = rpc_redrive.preview_redrive(tenant_id, redrive, sample=sample, after=after)
        return (yield from self._safely(call))

    def _counted_on(
        self, tenant_id: UUID, redrive: NewRedrive, sample: int, so_far: Preview
    ) -> Operation[Preview]:
        wanted = max(0, sample - len(so_far.sample))
        page = yield from self._page(tenant_id, redrive, wanted, so_far.cursor)
        return replace(
            page, matched=so_far.matched + page.matched, sample=(*so_far.sample, *page.sample)[:sample]
        )

    def get_redrive(self, redrive_id: UUID | str, *, tenant: TenantName | None = None) -> Operation[Redrive]:
        """What it is for, and how far it is; NotFound if there is none."""
        tenant_id = yield from self._tenant(tenant)
        return (yield from self._safely(rpc_redrive.get_redrive(tenant_id, as_id(redrive_id, "redrive"))))

    def list_redrives(
        self, *, limit: int = 50, cursor: str | None = None, tenant: TenantName | None = None
    ) -> Operation[Page[Redrive]]:
        """The tenant's redrives, newest first."""
        tenant_id = yield from self._tenant(tenant)
        before = None if cursor is None else as_id(cursor, "redrive")
        return (yield from self._safely(rpc_redrive.list_redrives(tenant_id, as_count(limit), before)))

    def stop_redrive(
        self,
        redrive_id: UUID | str,
        *,
        reason: str | None = None,
        actor: str | None = None,
        tenant: TenantName | None = None,
    ) -> Operation[str]:
        """Let it revive nothing more; the outcome, which of a redrive that had ended before stays."""
        tenant_id = yield from self._tenant(tenant)
        call = rpc_redrive.stop_redrive(tenant_id, as_id(redrive_id, "redrive"), reason, self._actor(actor))
        return (yield from self._safely(call))


def _names(given: str | Iterable[str] | None) -> tuple[str, ...] | None:
    names = as_names(given)
    return None if names is None else tuple(names)
