"""Where logs, metrics and traces attach: one object, made by whoever wires a process.

telemetry = Telemetry()
telemetry.subscribe(log_signals(logging.getLogger("windlass")))
telemetry.emit("job.succeeded", job_id=job.id, duration_ms=12.5)
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

_log = logging.getLogger("windlass.telemetry")


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing that happened, for whoever listens; `level` is a level of `logging`."""

    name: str
    level: int
    fields: Mapping[str, Any]


Subscriber: TypeAlias = Callable[[Signal], None]


class Telemetry:
    """Passes each signal to every subscriber, in the thread that emits it.

    A subscriber that raises is reported and the work goes on: watching a job must not end it.
    """

    __slots__ = ("_lock", "_subscribers")

    def __init__(self, subscribers: Iterable[Subscriber] = ()) -> None:
        self._lock = threading.Lock()
        self._subscribers: tuple[Subscriber, ...] = tuple(subscribers)

    @property
    def heard(self) -> bool:
        """Whether anybody listens; asked before a signal is put together that is dear to make."""
        return bool(self._subscribers)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Add a subscriber; the answer, when called, takes it away again."""
        with self._lock:
            self._subscribers = (*self._subscribers, subscriber)

        subscribed = [subscriber]

        def unsubscribe() -> None:
            with self._lock:
                left = list(self._subscribers)
                while subscribed:
                    left.remove(subscribed.pop())
                self._subscribers = tuple(left)

        return unsubscribe

    def emit(self, name: str, /, *, level: int = logging.INFO, **fields: Any) -> None:
        """Tell every subscriber that `name` happened."""
        subscribers = self._subscribers
        if not subscribers:
            return
        signal = Signal(name, level, fields)
        for subscriber in subscribers:
            try:
                subscriber(signal)
            except Exception:
                _log.exception("a telemetry subscriber failed on %s", name)
