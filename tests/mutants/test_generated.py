"""The rules for generated changes do what they say, and what is listed as equivalent still exists."""

import ast

import pytest

from tests.mutants.change import Change
from tests.mutants.equivalents import EQUIVALENT
from tests.mutants.generated import every_change, sampled
from tests.mutants.judge import PYTHON_TESTS
from tests.mutants.mutant import ROOT
from tests.mutants.python_changes import python_changes
from tests.mutants.reach import callers, files_for
from tests.mutants.sql_changes import sql_changes

FUNCTION = """-- a = b and c
create function windlass.f(p_x integer default null) returns integer
language plpgsql
as $$
begin
  perform windlass.g(a = b);
  update t set x = 1, y = 2 where t.x = 'a = b' and t.y between 1 and 2 and t.z <= 3;
  return (select coalesce(a, 'and') from t where t.x is null order by t.x limit 1);
end
$$;
comment on function windlass.f is 'a and b';
"""


@pytest.fixture(scope="module")
def every() -> list[Change]:
    return every_change(ROOT)


def changed(changes: list[Change], text: str, operator: str) -> list[str]:
    """The lines as they become."""
    found = []
    for change in changes:
        if change.operator == operator:
            after = change.apply(text).splitlines()
            found += [line.strip() for line in after if line not in text.splitlines()]
    return found


def test_rules_for_sql() -> None:
    changes = sql_changes("f.sql", FUNCTION)
    update = "update t set x = 1, y = 2 where t.x = 'a = b' and t.y between 1 and 2 and t.z <= 3;"
    assert changed(changes, FUNCTION, "compare") == [update.replace("<=", "<")]
    assert changed(changes, FUNCTION, "equal") == [update.replace("t.x =", "t.x <>")]
    assert changed(changes, FUNCTION, "logic") == [
        update.replace("' and", "' or"),
        update.replace("2 and", "2 or"),
    ]
    assert changed(changes, FUNCTION, "statement") == ["null;", "null;"]
    assert changed(changes, FUNCTION, "conjunct")[:3] == [
        update.replace("t.x = 'a = b'", "true"),
        update.replace("t.y between 1 and 2", "true"),
        update.replace("t.z <= 3", "true"),
    ]
    (swapped,) = changed(changes, FUNCTION, "coalesce")
    assert "coalesce('and', a)" in swapped
    (turned,) = changed(changes, FUNCTION, "order")
    assert "order by t.x desc limit 1" in turned
    assert not [change for change in changes if change.line.startswith(("--", "comment", "create"))]


def test_rules_for_python() -> None:
    text = "def f(a, b):\n    g()\n    return min(a, 1) if a < b and not b else a + 1\n"
    changes = python_changes("f.py", text)
    assert [change.operator for change in changes] == [
        "statement",
        "extreme",
        "compare",
        "logic",
        "not",
        "sign",
    ]
    assert "a <= b and not b" in changed(changes, text, "compare")[0]
    assert "a < b and b" in changed(changes, text, "not")[0]


def test_each_has_a_name_of_its_own_and_changes_something(every: list[Change]) -> None:
    assert len({change.name for change in every}) == len(every) > 1000
    for change in every:
        text = (ROOT / "src" / "windlass" / change.file).read_text()
        assert change.apply(text) != text, change.name
        if change.file.endswith(".py"):
            ast.parse(change.apply(text))


def test_a_sample_is_the_same_for_the_same_seed(every: list[Change]) -> None:
    assert sampled(every, 30, 7) == sampled(every, 30, 7) != sampled(every, 30, 8)
    assert sampled(every, None, 7) == every


def test_what_is_listed_as_equivalent_still_exists(every: list[Change]) -> None:
    assert set(EQUIVALENT) <= {change.name for change in every}
    assert all(EQUIVALENT.values())


def test_the_tests_that_are_asked_exist() -> None:
    called_by = callers(ROOT / "src" / "windlass" / "sql" / "code")
    files = files_for("_end_attempts", called_by, ROOT)
    assert "tests/sql/test_fail_jobs.py" in [*files[0], *files[1]]
    assert all((ROOT / file).exists() for some in (*files, *PYTHON_TESTS.values()) for file in some)
