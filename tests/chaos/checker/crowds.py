"""Rules about many jobs at once: how many run, how soon they start, and in which order.

All of it is exact by the database's clock.  A grant is noted after its claim has counted, and an end before
it commits: so whoever made room is seen to have ended before whoever took it is seen to begin.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.chaos.checker.history import History, Record, Story

GRAIN = 1e-3
"""Of a token: what sums of fractions may be off by."""


def limits(history: History, stories: Mapping[str, Story]) -> Iterator[str]:
    """Never more run at once, and never more start in any stretch of time, than a limit says."""
    for limit in history.limits:
        scope, held = _scope(limit), _held(limit, stories)
        name = ", ".join(f"{what} {which}" for what, which in scope.items()) or "all jobs"
        if limit.get("concurrency") is not None:
            yield from (f"{name}: {why}" for why in _crowded(limit["concurrency"], held))
        if limit.get("rate") is not None:
            yield from (f"{name}: {why}" for why in _hasty(limit, held))


def busiest(history: History, stories: Mapping[str, Story]) -> dict[str, int]:
    """How many ran at once under each limit: one that never filled would say nothing."""
    return {
        f"most at once of {limit['concurrency']}": max(
            (n for _, n, _ in _line(_held(limit, stories))), default=0
        )
        for limit in history.limits
        if limit.get("concurrency") is not None
    }


def _scope(limit: Record) -> Record:
    return {name: limit[name] for name in ("tenant", "kind") if limit.get(name) is not None}


def _held(limit: Record, stories: Mapping[str, Story]) -> list[Story]:
    scope = _scope(limit)
    return [story for story in stories.values() if story.asked and scope.items() <= story.asked[0].items()]


def _crowded(most: int, held: Iterable[Story]) -> Iterator[str]:
    for at, running, job in _line(held):
        if running > most:
            yield f"{job} was the {running}th of {most} that may run, at {at:.6f}"


def _line(held: Iterable[Story]) -> Iterator[tuple[float, int, str]]:
    """When each began, and how many ran then, itself among them."""
    moments: list[tuple[float, int, str]] = []
    for story in held:
        for version, grant in story.grants.items():
            moments.append((grant["at"], 1, story.job))
            if version in story.ends:
                moments.append((story.ends[version]["at"], -1, story.job))
    running = 0
    for at, change, job in sorted(moments):
        running += change
        if change > 0:
            yield at, running, job


def _hasty(limit: Record, held: Iterable[Story]) -> Iterator[str]:
    """A bucket that is full at first.  It fills by the moment at which a claim began, and never backwards."""
    pace, level, filled = limit["rate"] / limit["per"], float(limit["burst"]), -math.inf
    grants = sorted((g["at"], g["claimed_at"], story.job) for story in held for g in story.grants.values())
    for at, claimed_at, job in grants:
        if claimed_at > at:
            yield f"{job} says that it was claimed {claimed_at - at:.3f} s after it was granted"
        moment = max(filled, min(at, claimed_at))
        level = min(limit["burst"], level + (moment - filled) * pace) - 1
        filled = moment
        if level < -GRAIN:
            yield f"{job} began {-level / pace:.3f} s too soon"


def keys(history: History, stories: Mapping[str, Story]) -> Iterator[str]:
    """Of the jobs with one key, one at a time: until it has ended, through retries, snoozes and crashes.

    And first in first out: who was acknowledged before another was asked for goes first, and so do the
    earlier ones of one call.  Of two calls that overlap either may be the first.
    """
    lines: dict[tuple[Any, ...], list[Story]] = defaultdict(list)
    for story in stories.values():
        if story.asked and story.asked[0].get("key") is not None:
            facts = story.asked[0]
            lines[facts["tenant"], facts.get("kind"), facts["key"]].append(story)
    for line in lines.values():
        turns = sorted((s for s in line if s.grants), key=lambda s: min(g["at"] for g in s.grants.values()))
        yield from _two_at_once(turns)
        yield from _overtaken(turns)


def _two_at_once(turns: list[Story]) -> Iterator[str]:
    until, holder = -math.inf, ""
    for story in turns:
        began = min(grant["at"] for grant in story.grants.values())
        if began < until:
            yield f"{story.job} began while {holder} had its turn at the same key"
        if (end := _held_until(story)) > until:
            until, holder = end, story.job


def _held_until(story: Story) -> float:
    last = story.ends.get(max(story.grants))
    ended = last is not None and (last.get("ends") or (story.row or {}).get("state") == "canceled")
    return float(last["at"]) if last is not None and ended else math.inf


def _overtaken(turns: list[Story]) -> Iterator[str]:
    heard, patient = math.inf, ""
    places: dict[Any, tuple[int, str]] = {}
    for story in reversed(turns):
        if story.invoked_at > heard:
            yield f"{patient} was there before {story.job} was asked for, and began after it"
        for call in story.asked:
            place, behind = places.get(call["call"], (math.inf, ""))
            if call["place"] > place:
                yield f"{behind} stood before {story.job} in one call, and began after it"
            places[call["call"]] = (call["place"], story.job)
        if story.answered_at < heard:
            heard, patient = story.answered_at, story.job
