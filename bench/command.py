"""What `./run bench` does."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Sequence

from bench.environment import describe
from bench.files import load, merge, save
from bench.options import command_line, parse
from bench.peers.catalog import PEERS
from bench.peers.install import Absent, install
from bench.refusal import Refused
from bench.report.table import print_list, print_results, print_verdicts
from bench.results import Measurement, Results
from bench.runner import Plan, make_plan, run_all
from bench.server import open_server
from bench.systems.own import floors, windlass
from bench.systems.system import System
from bench.thresholds import QUICK_WORKLOADS, judge, judged, needs_floor
from bench.workloads.registry import choose
from bench.workloads.workload import Workload

__all__ = ["main"]

DEFAULT = ("windlass", "floor", "floor-notify")
QUICK = ("windlass", "floor")


def main(arguments: Sequence[str]) -> int:
    try:
        return _run(arguments)
    except Refused as refused:
        print(f"bench: {refused}", file=sys.stderr)
        return 2


def _run(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    if options.list:
        print_list([windlass(), *floors()])
        return 0
    if options.render:
        return _render(options)
    workloads = _workloads(options)
    systems, absent = _systems(options)
    plan = _plan(options, workloads, systems)
    results = asyncio.run(_measure(options, plan, systems, absent, command_line(arguments)))
    print_results(results)
    failed = bool(results.failures())
    if options.quick:
        verdicts = judge(results, judged(workload.name for workload in workloads))
        print_verdicts(verdicts)
        failed = failed or not all(verdict.passed for verdict in verdicts)
    return 1 if failed else 0


def _render(options: Namespace) -> int:
    from bench.report.render import render

    results = merge([load(path) for path in options.render])
    small = [run for run in results.runs() if run.options["scale"] < 1]
    if small and not options.small:
        raise Refused(
            f"{small[0].command} ran below scale 1, which proves that it works and nothing else:"
            " give --small to write a page of it all the same"
        )
    for path in render(results):
        print(path)
    return 0


def _workloads(options: Namespace) -> list[Workload]:
    workloads = choose(
        QUICK_WORKLOADS if options.quick and options.only is None else options.only, everything=options.all
    )
    if options.quick and not judged(workload.name for workload in workloads):
        raise Refused(
            "--quick has no threshold for what --only names: it judges W1, W2, W3, W4, and W6 with W6c"
        )
    return workloads


def _plan(options: Namespace, workloads: list[Workload], systems: list[System]) -> Plan:
    """What is measured, in which order; Refused if that is nothing."""
    plan = make_plan(workloads, systems, options.reps, options.seed)
    if options.quick:
        plan = [step for step in plan if step[2].name == "windlass" or needs_floor(step[1].name)]
    if not plan:
        raise Refused("none of these systems can do any of these workloads; --list names them all")
    return plan


def _systems(options: Namespace) -> tuple[list[System], list[Absent]]:
    """Those asked for; a peer that cannot be had is named with the reason."""
    own = {system.name: system for system in (windlass(), *floors())}
    names = options.systems or [*(QUICK if options.quick else DEFAULT), *(PEERS if options.peers else ())]
    found: list[System] = []
    absent: list[Absent] = []
    for name in dict.fromkeys(names):
        if name in own:
            found.append(own[name])
        elif name in PEERS:
            peer = install(PEERS[name], options.cache_dir, lambda text: print(text, file=sys.stderr))
            if isinstance(peer, Absent):
                print(f"{name} is absent: {peer.reason}", file=sys.stderr)
                absent.append(peer)
            else:
                found.append(peer)
        else:
            raise Refused(f"there is no system {name!r}; --list names them")
    return found, absent


async def _measure(
    options: Namespace, plan: Plan, systems: list[System], absent: list[Absent], command: str
) -> Results:
    async with open_server(options.database_url, options.data_dir) as server:
        environment = await describe(server)

        def results(measurements: list[Measurement]) -> Results:
            return Results(
                command,
                environment,
                {name: getattr(options, name) for name in ("reps", "scale", "seed", "history")},
                [{"name": one.name, "version": one.version, "settings": one.settings} for one in systems],
                [{"name": one.name, "reason": one.reason} for one in absent],
                measurements,
            )

        def keep(measurements: list[Measurement]) -> None:
            if options.json:
                save(results(measurements), options.json)

        history = {"history": options.history}
        found = await run_all(
            server, plan, scale=options.scale, seed=options.seed, options=history, keep=keep
        )
        return results(found)
