"""`./run bench`."""

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
from bench.runner import make_plan, run_all
from bench.server import open_server
from bench.systems.own import floors, windlass
from bench.systems.system import System
from bench.thresholds import QUICK_WORKLOADS, judge, needs_floor
from bench.workloads.registry import choose

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
        from bench.report.render import render

        for path in render(merge([load(path) for path in options.render])):
            print(path)
        return 0
    systems, absent = _systems(options)
    results = asyncio.run(_measure(options, systems, absent, command_line(arguments)))
    print_results(results)
    failed = bool(results.failures())
    if options.quick:
        verdicts = judge(results)
        print_verdicts(verdicts)
        failed = failed or not all(verdict.passed for verdict in verdicts)
    return 1 if failed else 0


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
            raise SystemExit(f"bench: there is no system {name!r}; --list names them")
    return found, absent


async def _measure(options: Namespace, systems: list[System], absent: list[Absent], command: str) -> Results:
    names = QUICK_WORKLOADS if options.quick and options.only is None else options.only
    workloads = choose(names, everything=options.all)
    plan = make_plan(workloads, systems, options.reps, options.seed)
    if options.quick:
        plan = [step for step in plan if step[2].name == "windlass" or needs_floor(step[1].name)]
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
