"""Kinds that a worker has handlers for and never runs."""

import logging
from collections.abc import Iterable, Sequence

from windlass.worker.registry import JobDefinition
from windlass.worker.signals import Signals

__all__ = ["mention_unclaimed"]


def mention_unclaimed(known: Iterable[JobDefinition], queues: Sequence[str], signals: Signals) -> None:
    """Where nobody else claims from its own queue, a kind would wait for ever without a word."""
    claimed = [queue for queue in queues if not queue.startswith("windlass.")]
    elsewhere: dict[str, list[str]] = {}
    for definition in known:
        if definition.queue not in queues:
            elsewhere.setdefault(definition.queue, []).append(definition.kind)
    for queue, kinds in elsewhere.items():
        signals.worker(
            "worker.unclaimed",
            logging.WARNING,
            message=f"{', '.join(sorted(kinds))}: enqueued to the queue {queue}, from which this node takes "
            f"nothing; queues={','.join((*claimed, queue))} would",
        )
