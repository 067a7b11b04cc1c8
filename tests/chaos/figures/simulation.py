"""Worlds in one thread, from seeds: a million steps of them, and their words said again to PostgreSQL."""

import random
from collections import Counter

from tests.chaos.figures.table import Figure, Setting
from tests.simulation.replay import Replay
from tests.simulation.world import play
from tests.support import Server, providers_by_major

__all__ = ["simulation"]

STEPS = 310
"""Of each world before it is healed; about 500 in all."""


def simulation(setting: Setting) -> list[Figure]:
    """10^6 steps that break no rule, and 2,000 traces on which PostgreSQL and the simulated core agree."""
    steps_asked, traces_asked = setting.count(1_000_000), setting.count(2_000)
    seed = first = random.SystemRandom().randrange(1_000_000_000)
    setting.say(f"  seeds from {first}; one again: tests.simulation.world.play(seed, {STEPS})\n")
    found = providers_by_major()
    server = Server(found[setting.major or next(iter(found))])
    steps = traces = 0
    words: Counter[str] = Counter()
    broken: dict[str, list[str]] = {}
    otherwise: dict[str, list[str]] = {}
    try:
        with server.database() as db:
            replay = Replay(db)
            while steps < steps_asked or traces < traces_asked:
                told = play(seed, STEPS)
                steps += told.steps
                if told.broken:
                    broken[str(seed)] = told.broken
                if traces < traces_asked:
                    traces += 1
                    words.update(type(step.word).__name__ for step in told.trace)
                    if differences := replay.differences(told.trace, told.core):
                        otherwise[str(seed)] = differences
                seed += 1
    finally:
        server.stop()
    worlds = f"{steps:,} steps in {seed - first:,} worlds from seed {first}"
    said = f"{traces:,} traces of {words.total():,} words"
    return [
        Figure("rules broken in simulated worlds", "0", f"{_seeds(broken)} in {worlds}", not broken, broken),
        Figure(
            "PostgreSQL does otherwise than the core",
            "0 of 2,000 traces",
            f"{_seeds(otherwise)} of {said}",
            not otherwise,
            {**words, **otherwise},
        ),
    ]


def _seeds(found: dict[str, list[str]]) -> str:
    return f"{len(found)} (seeds {', '.join(found)})" if found else "0"
