"""One worker process of the demo: what `windlass worker windlass.demo.jobs:app` runs, on a leash.

The leash is the pipe at its standard input.  When the demo ends, however it ends, the pipe closes, and
nobody is left to stop a worker that waits for its database to come back.
"""

import os
import sys
import threading

from windlass.demo.jobs import app
from windlass.node import run_node
from windlass.settings import Settings
from windlass.telemetry import configure_logging


def main() -> None:
    threading.Thread(target=_end_with_the_demo, name="demo leash", daemon=True).start()
    settings = Settings.from_env()
    configure_logging(settings.log_format, settings.log_level)
    run_node(settings, app)


def _end_with_the_demo() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    main()
