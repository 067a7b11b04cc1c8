"""`python -m windlass.demo`."""

import signal
import sys


def run() -> int:
    # All that there is to import takes a moment; who interrupts that is shown no traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from windlass.demo.main import main

    return main()


if __name__ == "__main__":
    sys.exit(run())
