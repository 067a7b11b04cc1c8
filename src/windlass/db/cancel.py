"""Cancellations of a task that get lost on their way through the driver or its pool."""

import asyncio

__all__ = ["heeding"]


class _Heeding:
    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _cancellations()

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if _cancellations() > self._before and not isinstance(error, asyncio.CancelledError):
            raise asyncio.CancelledError from error


def heeding() -> _Heeding:
    """Raise at the end of the block the cancellation of this task that came within it and was dropped.

    Canceled in the middle of a statement, the driver asks the server to give it up and waits for that; if
    the connection breaks meanwhile it raises that error instead.  And on Python 3.11 the pool drops one that
    comes together with a connection.  Who canceled would wait for ever.

    One that came earlier is not raised again: what a task does to clean up gets its own answers.
    """
    return _Heeding()


def _cancellations() -> int:
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()
