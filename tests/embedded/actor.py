"""A process that starts an embedded server, says what it got, and then lives until it is told or killed.

    python actor.py '{"data_dir": "...", "ephemeral": false, ...}'

Each line on standard input is an order: stop, ensure_running, fork, or end (also at end of file).
"""

import json
import os
import sys
from pathlib import Path

from windlass.db.embedded import EmbeddedServer


def report(server: EmbeddedServer) -> None:
    facts = {
        "owner": server.owner,
        "url": server.url(),
        "data_dir": str(server.data_dir),
        "major_version": server.major_version,
        "postmaster": server.postmaster_pid,
        "guardian": server.guardian_pid,
    }
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def stop_in_child(server: EmbeddedServer) -> None:
    """What a forked child does to its copy must not reach the server."""
    child = os.fork()
    if child == 0:
        server.stop()
        sys.exit(0)  # runs the exit handlers that were inherited
    os.waitpid(child, 0)


def main() -> None:
    options = json.loads(sys.argv[1])
    for name in ("data_dir", "bin_dir"):
        if name in options:
            options[name] = Path(options[name])
    server = EmbeddedServer.start(**options)
    report(server)
    orders = {"stop": server.stop, "ensure_running": server.ensure_running}
    for line in sys.stdin:
        order = line.strip()
        if order == "end":
            break
        if order == "fork":
            stop_in_child(server)
        else:
            orders[order]()
        report(server)


if __name__ == "__main__":
    main()
