"""What a worker is told when it is made: checked at once, so that none of its loops meets it later."""

import math
from collections.abc import Sequence

from windlass.errors import InvalidInput
from windlass.model import check_queue
from windlass.model.names import as_list, as_number, shown

__all__ = ["check_node_name", "check_numbers", "check_queues", "queue_names"]

MAX_NODE_NAME_LENGTH = 200
_DAY = 86_400


def queue_names(given: str | Sequence[str]) -> tuple[str, ...]:
    """The queues to serve: a name by itself is one queue, and not one for each of its letters."""
    return tuple(
        check_queue(name) for name in ([given] if isinstance(given, str) else as_list(given, "queues"))
    )


def check_queues(given: str | Sequence[str]) -> tuple[str, ...]:
    """The same, if there is any."""
    if not (names := queue_names(given)):
        raise InvalidInput("a worker needs a queue")
    return names


def check_numbers(
    concurrency: object, *, lease_seconds: object, poll_seconds: object, grace_seconds: object
) -> None:
    """Refuse what is no number, and what no worker could live with."""
    if not isinstance(concurrency, int) or concurrency < 1:
        raise InvalidInput(f"a worker's concurrency is a whole number from 1 on, not {shown(concurrency)}")
    if not 0.1 <= _finite("lease_seconds", lease_seconds) <= _DAY:
        raise InvalidInput(f"a lease lasts from 0.1 seconds to a day, not {shown(lease_seconds)} seconds")
    if _finite("poll_seconds", poll_seconds) <= 0:
        raise InvalidInput(f"a worker's poll_seconds are more than 0, not {shown(poll_seconds)}")
    if _finite("grace_seconds", grace_seconds) < 0:
        raise InvalidInput(f"a worker's grace_seconds are 0 or more, not {shown(grace_seconds)}")


def check_node_name(name: str) -> str:
    """`name` itself, if a node can be called so."""
    if not isinstance(name, str):
        raise InvalidInput(f"a node's name is text, not {shown(name)}")
    if len(name) > MAX_NODE_NAME_LENGTH:
        raise InvalidInput(f"a node's name has at most {MAX_NODE_NAME_LENGTH} characters")
    return name


def _finite(what: str, value: object) -> float:
    number = as_number(value)
    if number is None or math.isinf(number):
        raise InvalidInput(f"a worker's {what} are a number of seconds, not {shown(value)}")
    return number
