"""Whether work goes on at its old pace after a fault."""

import time
from collections.abc import Callable

from tests.chaos.faults import FAULTS, Fault
from tests.chaos.figures.table import Figure, Setting
from tests.chaos.records import read
from tests.chaos.site import Site
from windlass import NewJob

__all__ = ["rates"]

NAP = 0.2
WORKERS, SLOTS = 3, 8


def _once(fault: Fault, lease: float) -> None:
    fault.start()
    _watch(fault, max(fault.leases * lease, 0.2))
    fault.heal()


def _again_and_again(fault: Fault, lease: float) -> None:
    for _ in range(5):
        _once(fault, lease)
        _watch(fault, 0.5)


def _watch(fault: Fault, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(0.05)
    fault.site.replenish()


SCENES: dict[str, tuple[str, Callable[[Fault, float], None]]] = {
    "server restarted": ("restart", _once),
    "sessions ended": ("sessions", _again_and_again),
    "connections exhausted": ("limit", _once),
    "server crashed": ("crash", _once),
    "workers killed, again and again": ("kill", _again_and_again),
}


def rates(setting: Setting) -> list[Figure]:
    """More jobs of about 0.2 s than can be done: the slots, not the machine, set the pace."""
    window = max(4.0, 15.0 * setting.scale)
    seen = []
    for name, (fault, scene) in SCENES.items():
        before, after = _measure(setting, fault, scene, window)
        share = after / before if before else 0.0
        text = f"{share:.1%} ({before:.0f}/s → {after:.0f}/s)"
        seen.append(Figure(f"completion rate after: {name}", "≥ 98 % of before", text, share >= 0.98))
    return seen


def _measure(
    setting: Setting, name: str, scene: Callable[[Fault, float], None], window: float
) -> tuple[float, float]:
    with Site(
        setting.directory / name, workers=WORKERS, concurrency=SLOTS, lease_seconds=2.0, major=setting.major
    ) as site:
        fault = FAULTS[name](site)
        jobs = round(WORKERS * SLOTS / NAP * (2 * window + 30))
        naps = [NAP * site.random.uniform(0.5, 1.5) for _ in range(jobs)]  # not all in step
        site.client.enqueue_jobs([NewJob(kind="nap", payload={"seconds": nap}) for nap in naps])
        site.start_workers()
        _pass(site, 2.0)
        before = _pass(site, window)
        scene(fault, site.lease_seconds)
        _pass(site, site.lease_seconds + 3)  # what the dead held runs out meanwhile
        return before, _pass(site, window)


def _pass(site: Site, seconds: float) -> float:
    """Let time pass, and say how many jobs ended in each second of it."""
    since = time.monotonic()
    while time.monotonic() < since + seconds:
        time.sleep(0.1)
        site.replenish()
    until = time.monotonic()
    ended = sum(
        line["what"] == "end" and since <= line["mono"] < until for line in read(site.directory / "ledger")
    )
    return ended / (until - since)
