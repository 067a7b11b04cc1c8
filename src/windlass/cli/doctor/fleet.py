"""Checks of who runs jobs: are there nodes, can they be told apart, and do they know the work?"""

from collections import Counter
from collections.abc import Sequence

from windlass.cli.doctor.finding import Finding, ok, warn
from windlass.cli.text import plain
from windlass.cli.unserved import what_is_missing, what_to_start
from windlass.model import Node, Unserved

__all__ = ["check_kinds", "check_nodes"]


def check_nodes(nodes: Sequence[Node]) -> Finding:
    active = [node for node in nodes if node.active]
    silent = [node.name for node in nodes if not node.active]
    if not active:
        return warn(
            "nodes",
            "No node is active: jobs wait until one is.",
            "Start one: windlass worker MODULE:APP.",
            active=0,
        )
    shared = [name for name, count in Counter(node.name for node in active).items() if count > 1]
    if shared:
        holders = [node for node in active if node.name == shared[0]]
        places = ", ".join(f"{node.host}:{node.pid}" for node in holders)
        return warn(
            "nodes",
            f"{len(holders)} active nodes are called {shared[0]} ({places}): "
            "a gate on that name holds them all, and their logs cannot be told apart.",
            "Give each its own name, with --name or WINDLASS_NODE_NAME.",
            active=len(active),
            shared_names=shared,
        )
    shown = f"{len(active)} active" + (f"; silent without farewell: {', '.join(silent)}" if silent else "")
    return ok("nodes", f"{shown}.", active=len(active), silent=silent)


def check_kinds(unserved: Sequence[Unserved], nodes: Sequence[Node]) -> Finding:
    """Jobs that nobody will ever take wait without a word, and look like any other job that waits."""
    if not unserved and not any(node.active and not node.draining for node in nodes):
        return ok("kinds", "No job waits for a worker.", unserved=[])
    if not unserved:
        return ok("kinds", "Active nodes take every queue and kind of which jobs wait.", unserved=[])
    first, *rest = unserved
    count = first.ready + first.scheduled
    waits = f"{count:,} {'job waits' if count == 1 else 'jobs wait'} in the queue {first.queue!r}"
    more = f" So it is with {len(rest)} more." if rest else ""
    missing = what_is_missing(first)
    return warn(
        "kinds",
        f"{missing[0].upper()}{missing[1:]}, and {waits}.{more}",
        f"S{what_to_start(first)[1:]}, of an application that has the kind {first.kind!r}.",
        unserved=plain(list(unserved)),
    )
