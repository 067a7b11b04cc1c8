"""Judges a history.  It shares no code with what it judges: the standard library, and nothing else."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from tests.chaos.checker.costs import costs
from tests.chaos.checker.crowds import busiest, keys, limits
from tests.chaos.checker.history import History, Story, tell
from tests.chaos.checker.jobs import JOB_RULES

__all__ = ["CROWD_RULES", "RULES", "History", "check", "count"]

CROWD_RULES: dict[str, Callable[[History, Mapping[str, Story]], Iterator[str]]] = {
    "over a limit": limits,
    "out of turn": keys,
    "wrong costs": costs,
}
RULES = (*JOB_RULES, *CROWD_RULES)


def check(history: History) -> dict[str, list[str]]:
    """Every rule with the sentences that name who breaks it: empty lists are what one hopes for."""
    found: dict[str, list[str]] = {name: [] for name in RULES}
    stories = tell(history)
    for story in stories.values():
        for name, rule in JOB_RULES.items():
            found[name] += [f"{story.job}: {why}" for why in rule(story)]
    for name, judge in CROWD_RULES.items():
        found[name] += judge(history, stories)
    return found


def count(history: History) -> dict[str, int]:
    """What there was to judge."""
    answers = {line["call"]: line["step"] for line in history.calls if line["step"] != "invoke"}
    calls = [line for line in history.calls if line["step"] == "invoke" and line["verb"] == "enqueue"]
    asked = {job["job"]: answers.get(line["call"], "unknown") for line in calls for job in line["jobs"]}
    keyed = {job["job"] for line in calls for job in line["jobs"] if job.get("key") is not None}
    outcomes: dict[str, int] = defaultdict(int)
    for end in history.ends:
        outcomes[end["outcome"]] += 1
    starts = [line for line in history.ledger if line["what"] == "start"]
    return {
        "jobs asked for": len(asked),
        "jobs acknowledged": sum(answer == "ok" for answer in asked.values()),
        "jobs of unknown answer": sum(answer == "unknown" for answer in asked.values()),
        "jobs there at last": len(history.rows),
        "handlers started": len(starts),
        "handlers started again": len(starts) - len({line["job"] for line in starts}),
        "leases granted": len(history.grants),
        "jobs with a key": len(keyed),
        "costs written": len(history.costs),
        **busiest(history, tell(history)),
        **{f"attempts {name}": outcomes[name] for name in sorted(outcomes)},
    }
