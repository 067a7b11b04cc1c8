"""What the upkeep thread is asked for while it is busy is done once more."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from windlass.worker.leases import Leases
from windlass.worker.upkeep import Upkeep

PATIENCE = 30.0


class Busy:
    """A duty that lasts until it is let go; then it is `done`, or has to be done again."""

    def __init__(self, done: bool = True) -> None:
        self.done = done
        self.times = threading.Semaphore(0)
        self.free = threading.Semaphore(0)

    def __call__(self, *_: object) -> bool:
        self.times.release()
        assert self.free.acquire(timeout=PATIENCE)
        return self.done

    def begins(self) -> bool:
        return self.times.acquire(timeout=PATIENCE)


def upkeep_with(monkeypatch: pytest.MonkeyPatch, renewal: Busy | None, look: Busy | None) -> Upkeep:
    """One whose turns come once an hour, unless somebody asks."""
    stand_in: Any = SimpleNamespace(
        look=look or (lambda: True), interval=3600.0, stop_asked=False, leaving=False, left=threading.Event()
    )
    link: Any = SimpleNamespace(run=lambda call: None, close=lambda: None, interrupt=lambda: None)
    signals: Any = SimpleNamespace(fault=lambda *_: None, restored=lambda *_: None, failing=lambda *_: None)
    anything: Any = lambda *_: None  # noqa: E731
    upkeep = Upkeep(
        link,
        Leases(3600.0),
        3600.0,
        lost=anything,
        cancel=anything,
        gated=anything,
        heartbeat=anything,
        known=anything,
        stand_in=stand_in,
        signals=signals,
    )
    if renewal is not None:
        monkeypatch.setattr(upkeep, "_renew", renewal)
    return upkeep


def test_a_renewal_asked_for_during_one_follows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    renewal = Busy()
    upkeep = upkeep_with(monkeypatch, renewal, None)
    upkeep.start()
    upkeep.renew_soon()
    assert renewal.begins()
    upkeep.renew_soon()  # what it is about may have come after the first one looked
    renewal.free.release(2)
    assert renewal.begins()
    upkeep.stop(PATIENCE)


def test_a_lease_that_was_busy_is_asked_for_again_soon_however_long_it_lasts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cancel may wait to be heard: what somebody reports on at that moment is passed over."""
    renewal = Busy(done=False)
    upkeep = upkeep_with(monkeypatch, renewal, None)
    upkeep.start()
    upkeep.renew_soon()
    assert renewal.begins()
    renewal.free.release(2)
    assert renewal.begins()
    upkeep.stop(PATIENCE)


def test_a_stop_heard_during_a_look_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    look = Busy()
    upkeep = upkeep_with(monkeypatch, None, look)
    upkeep.start()
    assert look.begins()
    upkeep.ask_stop()
    look.free.release(2)
    assert look.begins()
    upkeep.stop(PATIENCE)
