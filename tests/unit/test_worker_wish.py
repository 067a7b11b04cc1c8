"""A wish for notices is said when there is little to do, and taken back when there is much for a while."""

from windlass.worker.wish import Wish


def test_it_is_said_once_and_then_left_alone() -> None:
    wish = Wish()
    assert (wish.to_say(0.0), wish.stands) == (True, False)
    wish.heard(True, 0, 20, 0.0)
    assert (wish.to_say(1.0), wish.stands) == (None, True)
    wish.heard(None, 3, 20, 1.0)
    assert wish.to_say(2.0) is None


def test_it_is_said_again_in_case_it_was_swept_away() -> None:
    wish = Wish()
    wish.heard(True, 0, 20, 0.0)
    assert (wish.to_say(5.0), wish.stands) == (True, True)
    wish.heard(True, 0, 20, 5.0)
    assert wish.to_say(6.0) is None


def test_a_short_burst_leaves_it_and_a_long_one_takes_it_back() -> None:
    wish = Wish()
    wish.heard(True, 0, 1, 0.0)
    wish.heard(None, 1, 1, 1.0)
    assert wish.to_say(1.5) is None
    wish.heard(None, 1, 1, 1.5)
    assert wish.to_say(2.1) is True
    wish.heard(True, 1, 1, 2.1)  # so much that the claim took it back
    assert (wish.to_say(2.2), wish.stands) == (True, False)


def test_a_lull_ends_a_burst() -> None:
    wish = Wish()
    wish.heard(True, 0, 20, 0.0)
    wish.heard(None, 10, 20, 1.0)
    wish.heard(None, 0, 20, 1.9)
    wish.heard(None, 20, 20, 2.5)
    assert wish.to_say(3.0) is None


def test_what_is_not_known_is_said() -> None:
    wish = Wish()
    wish.heard(True, 0, 20, 0.0)
    wish.forget()
    assert (wish.to_say(0.1), wish.stands) == (True, False)
    wish.heard(True, 0, 20, 0.1)
    wish.heard(False, 0, 20, 0.2)
    assert not wish.stands
