"""Many notices within a second are a flood: a worker then looks by itself until there would be fewer."""

import pytest

from windlass.worker.flood import FLOOD, Flood
from windlass.worker.wish import Wish


def hear(flood: Flood, count: int, begin: float, end: float, *, every: int = 1) -> None:
    """So many notices, evenly; each so-manieth is for this node."""
    for number in range(count):
        flood.note_notice(begin + (end - begin) * number / count, own=number % every == 0)


def test_it_begins_with_many_notices_within_a_second() -> None:
    flood = Flood()
    hear(flood, FLOOD - 1, 10.0, 10.9)
    assert not flood.judge(10.9)
    hear(flood, 1, 10.9, 10.9)
    assert flood.judge(10.9)
    assert flood.lasts


def test_as_many_over_a_longer_time_are_none() -> None:
    flood = Flood()
    hear(flood, 10 * FLOOD, 10.0, 25.0)
    assert not flood.judge(25.0)


def test_what_comes_for_others_is_no_reason() -> None:
    """They look by themselves then; a node that hears one in a hundred goes on waiting for notices."""
    flood = Flood()
    hear(flood, 5 * FLOOD, 10.0, 11.0, every=FLOOD)
    assert not flood.judge(11.0)


@pytest.mark.parametrize(("nodes", "seconds"), [(1, 0.005), (2, 0.01), (10, 0.05), (50, 0.1)])
def test_many_nodes_look_as_often_as_one_would(nodes: int, seconds: float) -> None:
    flood = Flood()
    hear(flood, FLOOD, 10.0, 10.5, every=nodes)
    assert flood.judge(10.5)
    assert flood.look_seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("nodes", "found", "lasts"), [(1, 60, True), (1, 40, False), (4, 15, True), (4, 10, False)]
)
def test_it_lasts_while_as_many_jobs_come(nodes: int, found: int, lasts: bool) -> None:
    """What one of four finds, the others do too."""
    flood = Flood()
    hear(flood, FLOOD, 10.0, 10.5, every=nodes)
    assert flood.judge(10.5)
    flood.note_found(found)
    assert flood.judge(11.4), "not judged before a second has passed"
    assert flood.judge(11.5) is lasts
    assert not flood.judge(12.6), "nothing was found since"


def test_after_it_only_new_notices_count() -> None:
    flood = Flood()
    hear(flood, FLOOD, 10.0, 10.1)
    assert flood.judge(10.1)
    assert not flood.judge(11.1)
    hear(flood, FLOOD - 1, 11.1, 11.2)
    assert not flood.judge(11.2)
    hear(flood, 1, 11.2, 11.2)
    assert flood.judge(11.2)


def test_a_wish_is_taken_back_once_and_said_again_behind_it() -> None:
    wish = Wish()
    wish.heard(True, 0, 20, 0.0)
    hear(wish.flood, FLOOD, 0.0, 0.1)
    assert wish.flood.judge(0.1)
    assert wish.to_say(0.1) is False
    wish.heard(False, 3, 20, 0.1)
    assert (wish.to_say(0.2), wish.stands) == (None, False)
    assert not wish.flood.judge(1.2)
    assert wish.to_say(1.2) is True
    wish.heard(True, 100, 200, 1.2)
    hear(wish.flood, FLOOD, 1.2, 1.3)
    assert wish.flood.judge(1.3)
    wish.forget()
    assert wish.to_say(1.3) is True, "of another server nothing is known"
