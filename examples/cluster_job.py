"""A cluster job: work on three nodes, one of them killed, then the leader's action on what the others did.

Needs a database: set WINDLASS_DATABASE_URL, or let `windlass up` run in another terminal.  No other
application may run there: its node may be the leader, which must know the kind.
"""

import asyncio
import subprocess
import sys
import time
from contextlib import ExitStack

from windlass import JobContext, LeaderContext, Windlass
from windlass.node import run_node
from windlass.settings import Settings

app = Windlass()


@app.cluster_job(on_timeout="wait")
async def warm_cache(ctx: JobContext, table: str) -> int:
    """Runs on every node."""
    if ctx.worker_id == "node-3":  # it hangs, until somebody kills it
        await asyncio.sleep(600)
    return len(table)


@warm_cache.leader()
async def announce(ctx: LeaderContext, table: str) -> str:
    """Runs on the leader, once more than half of the nodes are done."""
    return f"{table} is warm on {', '.join(sorted(ctx.results))}"


def serve(name: str) -> None:
    """One node, in a process of its own."""
    settings = Settings.from_env(node_name=name, cluster_lease_seconds=2.0, log_level="error")
    run_node(settings, app, ready=lambda _node: print("ready", flush=True))


def start(name: str, running: ExitStack) -> "subprocess.Popen[str]":
    """A node that is ready; it is stopped when `running` is left, however that comes."""
    node = subprocess.Popen([sys.executable, __file__, name], stdout=subprocess.PIPE, text=True)
    running.callback(node.communicate)
    running.callback(node.terminate)
    assert node.stdout is not None
    assert node.stdout.readline() == "ready\n"
    return node


def main() -> None:
    names = ("node-1", "node-2", "node-3")
    with ExitStack() as running, app:
        nodes = [start(name, running) for name in names]
        while sum(node.member for node in app.sync.list_nodes()) < len(names):
            time.sleep(0.1)
        handle = warm_cache.create_sync("prices")
        nodes[2].kill()
        print(handle.wait(timeout=60))
        found = app.sync.get_cluster_job(handle.id)
        print(f"{found.done} of {len(found.parts)} parts done, {found.needed} were needed")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(sys.argv[1])
    else:
        main()
