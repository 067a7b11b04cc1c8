"""Which tests would notice a change of a SQL function: first its own, then those of its nearest callers."""

import re
from collections.abc import Mapping
from pathlib import Path

__all__ = ["callers", "files_for"]

_CALL = re.compile(r"\bwindlass\.(\w+)\(")
# What goes through all verbs.
_BROAD = (
    "tests/sql/test_edges.py",
    "tests/sql/test_fencing.py",
)
# Files of tests that are not called after the function they are about.
_ALSO = {
    "claim_jobs": (
        "test_claim_sharing",
        "test_fairness",
        "test_limits",
        "test_concurrency_key",
        "test_set_gate",
    ),
    "_retake_keys": ("test_redrive_jobs", "test_prune_redrive"),
    "_resolve_duplicate": ("test_idempotency",),
    "survey_lanes": ("test_busy_lanes",),
    "retire_lanes": ("test_busy_lanes",),
    "redrive_jobs": ("test_redrive_patch",),
    "fail_jobs": ("test_cost_outcomes",),
    "enqueue_jobs": ("test_limit_depth",),
    "expire_leases": ("test_races",),
    "_gone_jobs": ("test_prune_leases",),
}


def callers(code: Path) -> dict[str, set[str]]:
    """Who calls each function, by name."""
    found: dict[str, set[str]] = {}
    for path in code.glob("*/*.sql"):
        for name in set(_CALL.findall(path.read_text())) - {path.stem}:
            found.setdefault(name, set()).add(path.stem)
    return found


def files_for(function: str, called_by: Mapping[str, set[str]], root: Path) -> list[list[str]]:
    """Files of tests in the order in which they are asked, the likeliest in runs of their own."""
    seen, ring, files = {function}, [function], list[str]()
    while ring:
        for name in sorted(ring):
            wanted = (f"test_{name.lstrip('_')}", *_ALSO.get(name, ()))
            files += [f"tests/sql/{stem}.py" for stem in wanted]
        ring = [caller for name in ring for caller in called_by.get(name, ()) if caller not in seen]
        seen.update(ring)
    near = list(dict.fromkeys(file for file in files if (root / file).exists()))[:5]
    broad = [file for file in _BROAD if file not in near]
    return [some for some in (near[:1], [*broad, *near[1:]]) if some]
