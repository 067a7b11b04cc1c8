"""A workload as the runner knows it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bench.trial import Outcome, Trial

__all__ = ["Workload"]


@dataclass(frozen=True, slots=True)
class Workload:
    """`headline` is the figure that tables and pictures show first; more of it is better unless `lower`."""

    name: str
    title: str
    headline: str
    unit: str
    run: Callable[[Trial], Awaitable[Outcome]]
    needs: frozenset[str] = frozenset({"work"})
    lower: bool = False
    core: bool = True
    """Whether it runs when nobody names workloads."""
    also: tuple[str, ...] = ()
    """Other figures worth a column."""
