"""Every figure that the harness can measure, by name."""

from collections.abc import Callable

from tests.chaos.figures.burn import burn
from tests.chaos.figures.deadlocks import deadlocks
from tests.chaos.figures.death import death
from tests.chaos.figures.failovers import failovers
from tests.chaos.figures.keys import keys
from tests.chaos.figures.rates import rates
from tests.chaos.figures.simulation import simulation
from tests.chaos.figures.stale import stale
from tests.chaos.figures.stop import stop
from tests.chaos.figures.table import Figure, Setting

__all__ = ["FIGURES"]

FIGURES: dict[str, Callable[[Setting], list[Figure]]] = {
    one.__name__: one for one in (stale, death, stop, rates, deadlocks, keys, burn, failovers, simulation)
}
