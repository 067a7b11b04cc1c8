"""One run: jobs under faults, then everything healed and drained, then the judgement."""

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.chaos import checker, evidence
from tests.chaos.faults import FAULTS, Fault
from tests.chaos.load import Load
from tests.chaos.records import read
from tests.chaos.site import Site, Standby

__all__ = ["Plan", "Result", "Status", "run", "schedule"]

TICK = 0.1
STRANDED_AFTER = 30.0
"""Seconds without any progress, with everything healed, after which what is left counts as stranded."""
STARTING = 120.0
"""Seconds in which workers may still be starting, where many share a machine: nobody is to blame for that."""
AT_ONCE = 3
EXCLUSIVE = frozenset({"crash", "restart", "failover", "disk"})
"""Never two of these at once: a server that crashed on a full disk cannot start until there is room."""


@dataclass(frozen=True)
class Plan:
    """All that decides a run; with the same plan, the same faults come in the same order."""

    jobs: int
    seconds: float
    seed: int
    faults: tuple[str, ...]
    lease_seconds: float = 2.0
    workers: int = 3
    concurrency: int = 8
    standby: Standby = "none"
    major: int | None = None
    gap_seconds: float = 1.5
    """How far faults are apart, on average."""
    settings: dict[str, str] = field(default_factory=dict)


@dataclass
class Status:
    """Where a run stands, for whoever watches."""

    phase: str
    seconds: float
    asked: int
    ended: int
    active: list[str]
    workers: int
    started: int


@dataclass
class Result:
    plan: Plan
    version: str
    findings: dict[str, list[str]]
    counts: dict[str, int]
    absent: dict[str, str]
    started: dict[str, int]
    began: float
    phases: dict[str, float]
    events: list[dict[str, Any]]
    ends: list[tuple[float, str]]

    @property
    def kept(self) -> bool:
        """Whether no rule is broken; what a lagging standby loses is counted and not judged."""
        return self.plan.standby == "async" or not any(self.findings.values())

    def to_json(self) -> dict[str, Any]:
        brief = {name: {"count": len(why), "first": why[:20]} for name, why in self.findings.items()}
        return {**asdict(self), "ends": len(self.ends), "findings": brief, "kept": self.kept}


def schedule(plan: Plan, names: list[str]) -> list[tuple[float, str]]:
    """When each fault begins: every one comes before any comes again."""
    source, planned, moment, round_ = random.Random(plan.seed), [], plan.gap_seconds, list[str]()
    while names and moment < plan.seconds:
        if not round_:
            round_ = source.sample(names, len(names))
        planned.append((moment, round_.pop()))
        moment += plan.gap_seconds * source.uniform(0.5, 1.5)
    return planned


class Tally:
    """Counts the ends in the ledger, reading what was added only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.ended = 0

    def look(self) -> int:
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._offset)
                added = file.read()
            self._offset += len(added)
            self.ended += added.count(b'"what":"end"')
        return self.ended


class Run:
    """Drives one plan on one site."""

    def __init__(self, plan: Plan, site: Site, watch: Callable[[Status], None]) -> None:
        self._plan = plan
        self._site = site
        self._watch = watch
        self._tally = Tally(site.directory / "ledger")
        self._load = Load(site, plan.jobs, plan.seconds)
        self._active: dict[Fault, float] = {}
        self.absent: dict[str, str] = {}
        self.started: dict[str, int] = {}
        self.phases: dict[str, float] = {}
        self._since = time.monotonic()

    def prepare(self, stack: ExitStack) -> list[Fault]:
        usable = []
        for name in self._plan.faults:
            fault = FAULTS[name](self._site)
            why = fault.absent()
            stack.callback(fault.close)
            if why is not None:
                self.absent[name] = why
                continue
            fault.prepare()
            usable.append(fault)
        return usable

    def safety(self, faults: list[Fault]) -> None:
        """Jobs come in, and one fault follows another."""
        by_name = {fault.name: fault for fault in faults}
        waiting = schedule(self._plan, list(by_name))
        self._since = time.monotonic()
        self._load.start()
        # On a slow machine a plan takes longer; it has the same faults all the same.
        while (
            (passed := time.monotonic() - self._since) < self._plan.seconds or waiting or not self._load.done
        ):
            self._heal_due()
            if waiting and waiting[0][0] <= passed and self._may_start(by_name[waiting[0][1]]):
                self._start(by_name[waiting.pop(0)[1]])
            self._site.replenish()
            self._tell("faults")
            time.sleep(TICK)
        self.phases["faults"] = time.monotonic() - self._since

    def _may_start(self, fault: Fault) -> bool:
        if fault in self._active or len(self._active) >= AT_ONCE:
            return False
        return fault.name not in EXCLUSIVE or not any(one.name in EXCLUSIVE for one in self._active)

    def _start(self, fault: Fault) -> None:
        self._active[fault] = time.monotonic() + fault.leases * self._plan.lease_seconds
        self._site.note("fault", name=fault.name)
        try:
            fault.start()
            self.started[fault.name] = self.started.get(fault.name, 0) + 1
        except psycopg.OperationalError as error:  # another fault has the server down
            self._site.note("trouble", text=f"{fault.name} could not be started: {error}")

    def _heal_due(self, everything: bool = False) -> None:
        for fault, until in list(self._active.items()):
            if everything or until <= time.monotonic():
                try:
                    fault.heal()
                except psycopg.OperationalError:
                    continue  # another fault has the server down; tried again until it is up
                del self._active[fault]
                self._site.note("healed", name=fault.name, text=fault.describe())

    def liveness(self) -> None:
        """No more faults: whatever is there must end."""
        began = time.monotonic()
        while self._active:
            self._heal_due(everything=True)
        self._site.proxy.set("pass")
        self._site.note("all healed")
        progress, at = -1, time.monotonic()
        while not self._is_quiet() and time.monotonic() < at + STRANDED_AFTER:
            self._site.replenish()
            if self._tally.look() != progress or self._is_starting(began):
                progress, at = self._tally.ended, time.monotonic()
            self._tell("healed")
            time.sleep(TICK)
        self.phases["healed"] = time.monotonic() - began

    def _is_starting(self, began: float) -> bool:
        late = time.monotonic() > began + STARTING
        return not late and not all(slot.worker.is_ready for slot in self._site.slots)

    def _is_quiet(self) -> bool:
        return evidence.is_quiet(self._site.primary)

    def _tell(self, phase: str) -> None:
        self._watch(
            Status(
                phase,
                time.monotonic() - self._since,
                self._load.asked,
                self._tally.look(),
                [fault.name for fault in self._active],
                sum(slot.worker.running for slot in self._site.slots),
                sum(self.started.values()),
            )
        )

    def judge(self) -> Result:
        self._load.stop()
        if self._load.trouble:
            raise self._load.trouble[0]
        history = evidence.collect(self._site.primary, self._site.directory)
        events = list(read(self._site.directory / "events"))
        began = next(event["wall"] for event in events if event["what"] == "begun")
        return Result(
            plan=self._plan,
            version=self._site.version,
            findings=checker.check(history),
            counts=checker.count(history),
            absent=self.absent,
            started=self.started,
            began=began,
            phases=self.phases,
            events=events,
            ends=[(end["at"] - began, end["outcome"]) for end in history.ends],
        )


def run(plan: Plan, directory: Path, watch: Callable[[Status], None] = lambda _: None) -> Result:
    """Carry out a plan; its files stay in `directory`."""
    site = Site(
        directory,
        seed=plan.seed,
        lease_seconds=plan.lease_seconds,
        workers=plan.workers,
        concurrency=plan.concurrency,
        standby=plan.standby,
        major=plan.major,
        settings=plan.settings,
    )
    with site, ExitStack() as stack:
        one = Run(plan, site, watch)
        faults = one.prepare(stack)
        site.start_workers()
        site.note("begun")
        one.safety(faults)
        one.liveness()
        site.stop_workers()
        return one.judge()
