"""The limits under which some of a run's jobs stand, and what the checker is told of them."""

from dataclasses import dataclass

from tests.chaos.records import append
from tests.chaos.site import Site

__all__ = ["LIMITS", "LimitOf", "impose"]


@dataclass(frozen=True)
class LimitOf:
    """At most so many run (`concurrency`), or start in a time; `tenant` counts the site's from 0."""

    tenant: int | None = None
    kind: str | None = None
    concurrency: int | None = None
    rate: int | None = None
    per: float | None = None
    burst: int | None = None


LIMITS = (
    LimitOf(tenant=3, concurrency=3),
    LimitOf(tenant=4, rate=20, per=1.0, burst=10),
    LimitOf(kind="errand", concurrency=5),
)
"""One tenant runs few at a time, one starts few, and one kind runs few of all tenants together."""


def impose(site: Site) -> None:
    """Before the first job; they stay as they are until the end."""
    for limit in LIMITS:
        tenant = None if limit.tenant is None else site.tenants[limit.tenant]
        said = {"concurrency": limit.concurrency, "rate": limit.rate, "per": limit.per, "burst": limit.burst}
        site.client.set_limit(
            tenant=tenant,
            kind=limit.kind,
            concurrency=limit.concurrency,
            rate=limit.rate,
            per=limit.per,
            burst=limit.burst,
            reason="so that the checker has something to count",
            actor="chaos",
        )
        append(site.directory / "limits", tenant=tenant, kind=limit.kind, **said)
