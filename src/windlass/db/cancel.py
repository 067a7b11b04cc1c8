"""The cancellation of a task in the middle of a statement."""

import asyncio

__all__ = ["heed_cancel"]


def heed_cancel(error: BaseException) -> None:
    """Raise the cancellation of this task that the driver has dropped.

    Canceled in the middle of a statement, the driver asks the server to give it up and waits for that; if the
    connection breaks meanwhile it raises that error instead, and who canceled would wait for ever.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling() and not isinstance(error, asyncio.CancelledError):
        raise asyncio.CancelledError from error
