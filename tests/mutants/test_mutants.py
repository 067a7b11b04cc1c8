"""Every mutant still fits the source, and names tests that exist."""

from pathlib import Path

import pytest

from tests.mutants.__main__ import _FAILED
from tests.mutants.catalog import MUTANTS
from tests.mutants.mutant import ROOT, DoesNotApply, Mutant, chosen


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_it_applies_and_its_tests_exist(mutant: Mutant) -> None:
    text = mutant.path().read_text()
    assert mutant.apply(text) != text
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert not name or f"def {name}(" in Path(ROOT, path).read_text()
        assert Path(ROOT, path).exists()


def test_each_has_a_name_of_its_own_and_there_are_many() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names) >= 20
    assert [mutant.name for mutant in chosen(MUTANTS, names[2:4])] == names[2:4]
    with pytest.raises(SystemExit, match="there is no nonsense"):
        chosen(MUTANTS, ["nonsense"])


def test_text_that_moved_is_an_error() -> None:
    mutant = MUTANTS[0]
    for text in ("", mutant.old * 2):
        with pytest.raises(DoesNotApply, match=mutant.name):
            mutant.apply(text)


def test_the_test_that_failed_is_found() -> None:
    for line in (
        "FAILED tests/sql/test_a.py::test_b[pg18] - assert 1",
        "SUBFAILED[verb='x'] tests/sql/test_a.py::test_b[pg18] - assert",
        "SUBFAILED(verb='x') tests/sql/test_a.py::test_b[pg18] - assert",
    ):
        found = _FAILED.search(f"=== short ===\n{line}\n")
        assert found is not None
        assert found[1] == "tests/sql/test_a.py::test_b[pg18]"
