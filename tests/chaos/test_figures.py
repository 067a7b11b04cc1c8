"""Each figure can be measured; a small count here, the full one by `./run chaos figures`."""

from pathlib import Path

import pytest

from tests.chaos.figures import FIGURES
from tests.chaos.figures.table import Figure, Setting, as_table

# Without `burn`: its least is half a minute, and its goal is a length of time, which busy machines miss.
SCALES = {
    "stale": 0.08,
    "death": 0.01,
    "stop": 0.02,
    "deadlocks": 0.012,
    "keys": 0.01,
    "simulation": 0.002,
}


@pytest.mark.parametrize("name", SCALES)
def test_a_figure_meets_its_goal(name: str, tmp_path: Path) -> None:
    figures = FIGURES[name](Setting(tmp_path, SCALES[name]))
    assert all(figure.met for figure in figures), as_table(figures)


def test_a_figure_that_misses_its_goal_says_so() -> None:
    assert "NOT MET" in as_table([Figure("a", "0", "1", met=False)])
    assert "NOT MET" not in as_table([Figure("a", "0", "0", met=True)])
