"""Every function that somebody may call is among the verbs that are mixed, or left out for a reason."""

from tests.chaos.figures.verbs import LEFT_OUT, VERBS
from tests.sql.surface import public_functions
from tests.support import Database


def test_every_granted_function_is_mixed_in_or_left_out_by_name(db: Database) -> None:
    granted = {function.name for function in public_functions(db)}
    assert len(granted) > 60
    assert set(VERBS) | set(LEFT_OUT) == granted
    assert set(VERBS) & set(LEFT_OUT) == set()
    assert all(LEFT_OUT.values()), "a reason for each"
