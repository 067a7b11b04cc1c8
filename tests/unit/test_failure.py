"""The traceback of a failure: kept by its place for the next time, and always what Python would show."""

import traceback
from collections.abc import Callable
from typing import Any

import pytest

from windlass.model import failure
from windlass.model.failure import describe_exception


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure, "_stacks", {})


def fails(error: BaseException) -> None:
    raise error


def by_another_way(error: BaseException) -> None:
    fails(error)


def with_cause(error: BaseException) -> None:
    raise error from KeyError("the cause")


def with_context(error: BaseException) -> None:
    try:
        fails(KeyError("the context"))
    except KeyError:
        fails(error)


def with_context_left_out(error: BaseException) -> None:
    try:
        fails(KeyError("the context"))
    except KeyError:
        raise error from None


def deeply(error: BaseException, left: int = 50) -> None:
    deeply(error, left - 1) if left else fails(error)


def noted(error: BaseException) -> BaseException:
    error.add_note("a note,\nof two lines")
    return error


def with_a_suggestion(_: BaseException) -> None:
    traceback.format_exceptoin  # type: ignore[attr-defined]  # noqa: B018


def with_another_suggestion(error: BaseException) -> None:
    errror  # type: ignore[name-defined]  # noqa: B018, F821


class Account:
    def __init__(self) -> None:
        self._balance = 1

    def show(self, _: BaseException) -> None:
        self.balance  # type: ignore[attr-defined]  # noqa: B018


def with_a_suggestion_of_what_is_private(error: BaseException) -> None:
    Account().show(error)


def with_a_suggestion_of_what_to_import(_: BaseException) -> None:
    from traceback import format_exceptoin  # type: ignore[attr-defined]  # noqa: F401


def with_a_syntax_error(_: BaseException) -> None:
    compile("def (", "there.py", "exec")


def in_code_without_source(error: BaseException) -> None:
    exec("fails(error)", {"fails": fails, "error": error})


WAYS: list[Callable[[BaseException], None]] = [
    fails,
    by_another_way,
    with_cause,
    with_context,
    with_context_left_out,
    deeply,
    with_a_suggestion,
    with_another_suggestion,
    with_a_suggestion_of_what_is_private,
    with_a_suggestion_of_what_to_import,
    with_a_syntax_error,
    in_code_without_source,
]


def caught(way: Callable[[BaseException], Any], error: BaseException) -> BaseException:
    try:
        way(error)
    except BaseException as raised:
        return raised
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("way", WAYS)
def test_it_is_what_python_shows_the_first_time_and_the_next(way: Callable[[BaseException], Any]) -> None:
    errors = [
        ValueError("one\nand a second line"),
        OSError(2, "two"),
        noted(ValueError("three")),
        ExceptionGroup("four", [ValueError("five")]),
        KeyboardInterrupt(),
        ValueError(),
    ]
    for error in errors:
        found = caught(way, error)
        assert describe_exception(found)["traceback"] == "".join(traceback.format_exception(found))


def test_of_an_error_that_was_never_raised_there_is_no_stack() -> None:
    assert describe_exception(ValueError("x"))["traceback"] == "ValueError: x\n"


def test_a_stack_is_put_together_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    whole = traceback.format_tb

    def format_tb(trace: Any) -> list[str]:
        shown.append(trace)
        return whole(trace)

    monkeypatch.setattr(traceback, "format_tb", format_tb)
    for number in range(10):
        assert describe_exception(caught(fails, ValueError(number)))["message"] == str(number)
    assert len(shown) == 1
    describe_exception(caught(by_another_way, ValueError()))
    assert len(shown) == 2


def test_places_in_one_function_are_told_apart() -> None:
    def fails_at(place: int) -> None:
        if place == 1:
            raise ValueError("first")
        raise ValueError("second")

    for place, message in ((1, "first"), (2, "second")):
        found = caught(fails_at, place)  # type: ignore[arg-type]
        assert f'raise ValueError("{message}")' in describe_exception(found)["traceback"]


def test_functions_that_are_alike_in_all_but_their_files_are_told_apart() -> None:
    for name in ("here.py", "there.py"):
        names: dict[str, Any] = {}
        exec(compile("def fail(error):\n    raise error\n", name, "exec"), names)
        assert f'File "{name}"' in describe_exception(caught(names["fail"], ValueError()))["traceback"]


def test_no_more_is_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure, "_MAX_STACKS", 5)
    for number in range(12):
        names: dict[str, Any] = {}
        exec(compile("def fail(error):\n    raise error\n", f"file{number}.py", "exec"), names)
        assert f"file{number}.py" in describe_exception(caught(names["fail"], ValueError()))["traceback"]
        assert len(failure._stacks) <= 5
