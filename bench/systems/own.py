"""Windlass itself, and the floor."""

import sys
from importlib.metadata import version
from importlib.util import find_spec

from bench.systems.system import ON_POSTGRESQL, System

__all__ = ["floors", "windlass"]

WINDLASS = ON_POSTGRESQL | {
    "tenants",
    "schedule",
    "retry",
    "late",
    "io",
    "history",
    "idle",
    "memory",
    "features",
    "quiet",
}
# What the view and the listings say too, but quickly among ten thousand tenants.
LEFT = """
select exists (select from windlass_data.ready)::int + exists (select from windlass_data.lease)::int
     + exists (select from windlass_data.scheduled where run_at < now() + interval '1 day')::int
"""


def windlass() -> System:
    return System(
        name="windlass",
        version=version("windlass-jobs"),
        command=(sys.executable, "-m", "bench.drivers.windlass"),
        left_sql=LEFT,
        entered_sql="select count(*) from windlass_data.job",
        done_sql="select count(*) from windlass_data.attempt where ends = 'succeeded'",
        can=WINDLASS,
        migrated=True,
        settings=f"worker with concurrency 200, {_loop()}; its log as JSON at level info, to nowhere;"
        " all else as it comes; records, attempts and tenancy kept",
    )


def _loop() -> str:
    """Drivers run on it where it is installed, as `windlass worker` does."""
    return "uvloop (the extra `fast`)" if find_spec("uvloop") else "the event loop of Python itself"


def floors() -> tuple[System, ...]:
    """Bare SQL; without records, tenants, retries or leases that anybody renews."""
    return (
        _floor(
            "floor",
            {},
            "COPY and INSERT; claim 500 by UPDATE, complete by DELETE on a second connection",
            ON_POSTGRESQL | {"io"},
        ),
        _floor(
            "floor-notify",
            {"notify": True},
            "INSERT with a notice in the same transaction",
            frozenset({"single", "clients"}),
        ),
        _floor(
            "floor-cursor",
            {"low_water": True},
            "the floor with a low-water mark in the claim",
            frozenset({"work", "snapshot"}),
        ),
    )


def _floor(name: str, config: dict[str, bool], settings: str, can: frozenset[str]) -> System:
    return System(
        name=name,
        version=f"asyncpg {version('asyncpg')}",
        command=(sys.executable, "-m", "bench.drivers.floor"),
        left_sql="select count(*) from job",
        entered_sql="select count(*) from job",
        can=can,
        config=config,
        settings=settings,
    )
