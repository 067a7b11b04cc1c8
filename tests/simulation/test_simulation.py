"""Many small worlds from seeds: they break no rule, and every broken core is found out.

A failure names its seed; `play(seed, STEPS)` is that world again.  A seed that has found something goes into
`KEPT`.  The full count is `./run chaos simulation`.
"""

from collections.abc import Iterator

import pytest

from tests.simulation.core import Core
from tests.simulation.variants import VARIANTS
from tests.simulation.words import Begin, Complete, End, Expire, Renew, Step
from tests.simulation.world import play

STEPS = 310
BLOCK = 50
KEPT = (7, 207, 101, 118, 445_773_225)
"""In which a redrive meets the holder of its key, a gate comes too late, a lease runs out under a cancel, an
enqueue is said again when another job has its key."""
CORNERS = {
    *("Enqueue refused: WL002", "Cancel canceled", "Cancel running", "Cancel refused: WL001"),
    *("Cancel refused: WL004", "Redrive refused: WL001", "Redrive refused: WL004", "Finish refused: WL003"),
    *("Reschedule refused: WL001", "Reschedule refused: WL004", "ClearGate refused: WL001"),
    *("Begin lease_lost", "Complete lease_lost", "End lease_lost", "End canceled", "End dead", "End queued"),
    *("Expire dead", "Expire queued", "Renew lease_lost", "Renew cancel_requested", "Renew gated"),
    *("Renew release_requested", "Redrive refused: WL002", "SetGate refused: WL007", "Expire canceled"),
}


@pytest.mark.parametrize("first", [1_000, 1_050, 1_100, 1_150])
def test_worlds_break_no_rule(first: int) -> None:
    """And they go everywhere: what never happens in them, they would say nothing about."""
    reached: set[str] = set()
    for seed in (*KEPT, *range(first, first + BLOCK)):
        told = play(seed, STEPS)
        assert told.broken == [], f"seed {seed}"
        reached |= {corner for step in told.trace for corner in _corners(step)}
    assert reached >= CORNERS


def _corners(step: Step) -> Iterator[str]:
    verb = type(step.word).__name__
    if isinstance(step.answer, str):
        yield f"{verb} {step.answer}"
    elif isinstance(step.word, End):
        yield from (f"{verb} {row.state or row.code}" for row in step.answer)
    elif isinstance(step.word, Begin | Renew | Complete | Expire):
        yield from (f"{verb} {row[-1]}" for row in step.answer)


def test_a_seed_says_all() -> None:
    one, other = play(5, STEPS), play(5, STEPS)
    assert one.trace == other.trace
    assert one.trace != play(6, STEPS).trace


@pytest.mark.parametrize("broken", VARIANTS, ids=lambda broken: broken.__name__)
def test_a_broken_core_is_found_out(broken: type[Core]) -> None:
    for seed in range(60):
        if any(why.startswith(VARIANTS[broken]) for why in play(seed, STEPS, broken).broken):
            return
    pytest.fail(f"60 worlds of {broken.__name__} broke no rule of that name")
