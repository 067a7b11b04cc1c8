"""Check the protocol's models whole: `python -m tests.model`."""

import os
import sys
import time

from tests.model.cases import BROKEN, LARGE, LIVE_LARGE
from tests.model.cluster_cases import CLUSTER_BROKEN, CLUSTER_BROKEN_LIVE, CLUSTER_LARGE, CLUSTER_LIVE
from tests.model.tlc import NoChecker, check


def main() -> int:
    failed = 0
    cluster = (*CLUSTER_LARGE, *CLUSTER_LIVE, *CLUSTER_BROKEN, CLUSTER_BROKEN_LIVE)
    for case in (*LARGE, LIVE_LARGE, *BROKEN, *cluster):
        began = time.monotonic()
        try:
            verdict = check(case, workers=os.cpu_count() or 1, memory_mb=2048)
        except NoChecker as missing:
            sys.stdout.write(f"skipped: {missing}\n")
            return 0
        good = verdict.refuted == case.refuted_by
        failed += not good
        if verdict.refuted is None:
            said = f"holds in {verdict.states:,} states"
        else:
            said = f"{verdict.refuted} is false after {len(verdict.trace)} steps: {' '.join(verdict.trace)}"
        mark = "ok " if good else "BAD"
        sys.stdout.write(f"{mark} {case.name:44} {said} ({time.monotonic() - began:.0f} s)\n")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
