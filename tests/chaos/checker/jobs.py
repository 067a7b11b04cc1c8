"""Rules about one job."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.chaos.checker.history import SUCCESS, Story

TERMINAL = frozenset({"succeeded", "dead", "canceled", "skipped"})
COUNTED = frozenset({"succeeded", "skipped", "failed", "timed_out", "crashed", "canceled"})


def lost(story: Story) -> Iterator[str]:
    if story.acknowledged and story.row is None:
        yield "acknowledged, and not there"
    for version in story.accepted():
        if not story.noted("end", version):
            yield f"version {version} was accepted as a success, but no handler ended it"
    state = story.row and story.row["state"]
    counted = sum(end["outcome"] in COUNTED for end in story.ends.values())
    if state == "dead" and counted < _asked(story, "max_attempts", 1):
        yield f"given up after {counted} attempts"
    if state == "canceled" and not story.cancels:
        yield "canceled, and nobody asked for that"
    if state in SUCCESS and not story.accepted():
        yield f"{state} without an attempt that ended so"


def never_begun(story: Story) -> Iterator[str]:
    """Given up, though no handler was ever called; where that was left in doubt, it is tried once more."""
    doubted = any(end.get("doubt") for end in story.ends.values())
    if story.row is not None and story.row["state"] == "dead" and not (story.noted("start") or doubted):
        yield f"dead after {len(story.ends)} attempts, and no handler was called"


def unexpected(story: Story) -> Iterator[str]:
    if not story.wanted and (story.row or story.ledger or story.grants):
        yield "refused, and there all the same" if story.asked else "nobody asked for it"
    for line in story.noted("start"):
        grant = story.grants.get(line["version"])
        if grant is None:
            yield f"version {line['version']} ran without a lease"
        elif grant["token"] != line["token"]:
            yield f"version {line['version']} ran with a token that was not granted"
    yield from story.twice


def double_accepted(story: Story) -> Iterator[str]:
    accepted = story.accepted()
    if len(accepted) > 1:
        yield f"accepted as a success {len(accepted)} times: versions {accepted}"
    for version, end in story.ends.items():
        if end.get("ends") and version != max(story.ends):
            yield f"version {version} ended the job, and version {max(story.ends)} came after it"
    if accepted and (later := [version for version in story.grants if version > accepted[0]]):
        yield f"claimed again as version {later} after version {accepted[0]} had succeeded"


def unjustified_duplicate(story: Story) -> Iterator[str]:
    """An extra run with no expiry, kill or release between."""
    starts = [line["version"] for line in story.noted("start")]
    for version in {version for version in starts if starts.count(version) > 1}:
        yield f"version {version} was started {starts.count(version)} times"
    for version, grant in story.grants.items():
        if version == 1:
            continue
        before = story.ends.get(version - 1)
        if before is None:
            yield f"version {version} was claimed though version {version - 1} has no end"
        elif before["outcome"] == "crashed" and (early := _early(story, version - 1)) > 0:
            yield f"version {version - 1} was taken away {early:.3f} s before its time"
        elif before["outcome"] == "failed" and _ended_well(story, version - 1):
            yield f"version {version} ran after {version - 1} had ended well ({grant['token']})"


def overlapping_leases(story: Story) -> Iterator[str]:
    for version, grant in story.grants.items():
        before = story.grants.get(version - 1)
        if version > 1 and before is None:
            yield f"version {version} was granted before version {version - 1}"
        elif before is not None:
            end = story.ends.get(version - 1)
            if end is None or grant["at"] < end["at"]:
                yield f"version {version} was granted while version {version - 1} held its lease"
            if before["token"] == grant["token"]:
                yield f"versions {version - 1} and {version} have one token"


def over_the_cap(story: Story) -> Iterator[str]:
    counted = sum(end["outcome"] in COUNTED for end in story.ends.values())
    cap = _asked(story, "max_attempts", None)
    if cap is not None and counted > cap:
        yield f"{counted} counted attempts of {cap}"


def early_start(story: Story) -> Iterator[str]:
    due = _asked(story, "run_at", None)
    first = story.grants.get(1)
    if due is not None and first is not None and first["at"] < due:
        yield f"claimed {due - first['at']:.3f} s before it was due"
    waits = {"failed": _asked(story, "retry_wait", None), "snoozed": _asked(story, "snooze_wait", None)}
    for version, end in story.ends.items():
        wait, after = waits.get(end["outcome"]), story.grants.get(version + 1)
        waited = None if after is None else after["at"] - end.get("finished_at", end["at"])
        if wait is not None and waited is not None and waited < wait:
            yield f"version {version + 1} began after {waited:.3f} s of a wait of {wait} s"


def stranded(story: Story) -> Iterator[str]:
    if story.row is not None and story.wanted and story.row["state"] not in TERMINAL:
        yield f"still {story.row['state']} after everything was healed"


def cross_tenant(story: Story) -> Iterator[str]:
    owners = {call["tenant"] for call in story.asked}
    if not owners:
        return
    seen = {"ledger": story.ledger, "grants": story.grants.values(), "ends": story.ends.values()}
    for where, records in {**seen, "rows": [story.row] if story.row else []}.items():
        for stranger in {record["tenant"] for record in records} - owners:
            yield f"{where} name the tenant {stranger}"


def _asked(story: Story, name: str, otherwise: Any) -> Any:
    return story.asked[0].get(name, otherwise) if story.asked else otherwise


def _early(story: Story, version: int) -> float:
    grant = story.grants.get(version)
    return 0.0 if grant is None else float(grant["expires_at"] - story.ends[version]["at"])


def _ended_well(story: Story, version: int) -> bool:
    return any(line.get("how") == "ok" for line in story.noted("end", version))


JOB_RULES: dict[str, Callable[[Story], Iterator[str]]] = {
    "lost": lost,
    "never begun": never_begun,
    "unexpected": unexpected,
    "double-accepted": double_accepted,
    "unjustified duplicates": unjustified_duplicate,
    "overlapping leases": overlapping_leases,
    "attempts over the cap": over_the_cap,
    "early starts": early_start,
    "stranded": stranded,
    "cross-tenant rows": cross_tenant,
}
