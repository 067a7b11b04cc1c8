"""Medians, quantiles and spread."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Spread", "quantile", "summarize"]


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over several runs."""

    median: float
    low: float
    high: float
    runs: int

    @property
    def half_range(self) -> float:
        """Half the range as a part of the median."""
        return (self.high - self.low) / 2 / abs(self.median) if self.median else 0.0


def quantile(values: Sequence[float], part: float) -> float:
    """By linear interpolation between the neighbours."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("there is no quantile of nothing")
    place = part * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def summarize(values: Sequence[float]) -> Spread:
    return Spread(quantile(values, 0.5), min(values), max(values), len(values))
