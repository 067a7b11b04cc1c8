"""The primary is lost, over and over, under load."""

import time

from tests.chaos import checker, evidence
from tests.chaos.figures.table import Figure, Setting
from tests.chaos.load import Load
from tests.chaos.postgres import PATIENCE
from tests.chaos.runner import Tally
from tests.chaos.site import Site, Standby

__all__ = ["failovers"]

PER_SECOND = 150


def failovers(setting: Setting) -> list[Figure]:
    """20 with a synchronous standby lose nothing; with an asynchronous one the loss is counted."""
    return [*_many(setting, "sync", setting.count(20)), *_many(setting, "async", setting.count(5))]


def _many(setting: Setting, standby: Standby, count: int) -> list[Figure]:
    promoted: list[float] = []
    directory = setting.directory / standby
    # Processes die here and not machines, so what the system keeps for the disk outlives them.
    settings = {"fsync": "off"}
    with Site(directory, standby=standby, major=setting.major, seed=count, settings=settings) as site:
        site.start_workers()
        load = Load(site, 1_000_000, 1_000_000 / PER_SECOND)
        load.start()
        for number in range(1, count + 1):
            _let_it_run(site, 1.5)
            site.fail_over()
            promoted.append(time.time())
            _let_it_run(site, 1.0)
            site.attach_standby()
            setting.say(f"  failover {number} of {count} ({standby})\n")
        load.stop()
        if load.trouble:
            raise load.trouble[0]
        _drain(site)
        site.stop_workers()
        history = evidence.collect(site.primary, directory)
    found = {rule: len(why) for rule, why in checker.check(history).items()}
    waits = [min(g["at"] for g in history.grants if g["at"] > moment) - moment for moment in promoted]
    counts = checker.count(history)
    seen = f"lost {found['lost']} of {counts['jobs acknowledged']:,} acknowledged in {count} failovers"
    if standby == "async":
        return [Figure("failover, asynchronous standby", "counted", seen, True, {**found, **counts})]
    resumed = f"longest {max(waits):.2f} s after promotion"
    return [
        Figure(
            "failover, synchronous standby",
            "0 lost in 20",
            seen,
            not any(found.values()),
            {**found, **counts},
        ),
        Figure("failover → jobs claimed again", "≤ 5 s", resumed, max(waits) <= 5, {"waits": waits}),
    ]


def _drain(site: Site) -> None:
    """Wait until all jobs have ended, for as long as some do."""
    tally, ended, at = Tally(site.directory / "ledger"), -1, time.monotonic()
    while not evidence.is_quiet(site.primary):
        if tally.look() != ended:
            ended, at = tally.ended, time.monotonic()
        if time.monotonic() > at + PATIENCE:
            raise TimeoutError(f"no job has ended for {PATIENCE:.0f} s, and some wait or run")
        _let_it_run(site, 0.1)


def _let_it_run(site: Site, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        site.replenish()
        time.sleep(0.05)
