"""Rules about money: what was acknowledged is there once, and nothing else is."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from tests.chaos.checker.history import History, Record, Story


def costs(history: History, stories: Mapping[str, Story]) -> Iterator[str]:
    said = {
        line["entry"]: line for line in history.ledger if line["what"] == "cost" and line["how"] == "said"
    }
    heard = {line["entry"] for line in history.ledger if line["what"] == "cost" and line["how"] == "ok"}
    found: dict[str, list[Record]] = defaultdict(list)
    for cost in history.costs:
        found[cost["entry"]].append(cost)
    for entry in sorted(heard - found.keys()):
        yield f"{entry}: acknowledged, and not there"
    for entry, written in found.items():
        if len(written) > 1:
            yield f"{entry}: written {len(written)} times"
        yield from (f"{entry}: {why}" for why in _wrong(written[0], said.get(entry), stories))
    yield from _sums(history, stories)


def _wrong(cost: Record, said: Record | None, stories: Mapping[str, Story]) -> Iterator[str]:
    """A refused attempt spends nothing: what is written was written while its lease held."""
    if said is None:
        yield "nobody said it"
        return
    for name in ("job", "tenant", "version", "cents"):
        if cost[name] != said[name]:
            yield f"said with {name} {said[name]}, written with {cost[name]}"
    story = stories[said["job"]]
    grant, end = story.grants.get(cost["version"]), story.ends.get(cost["version"])
    if grant is None or cost["at"] < grant["at"]:
        yield f"version {cost['version']} held no lease yet"
    elif end is not None and cost["at"] > end["at"]:
        yield f"written {cost['at'] - end['at']:.3f} s after version {cost['version']} had ended"


def _sums(history: History, stories: Mapping[str, Story]) -> Iterator[str]:
    entries: Counter[tuple[str, str]] = Counter()
    cents: Counter[tuple[str, str]] = Counter()
    for cost in history.costs:
        asked = stories[cost["job"]].asked if cost["job"] in stories else []
        where = (cost["tenant"], str(asked[0].get("kind")) if asked else "?")
        entries[where] += 1
        cents[where] += cost["cents"]
    told = {(line["tenant"], line["kind"]): (line["entries"], line["cents"]) for line in history.sums}
    for where in sorted(entries.keys() | told.keys()):
        there = (entries[where], cents[where])
        if told.get(where, (0, 0)) != there:
            tenant, kind = where
            yield f"kind {kind} of {tenant}: {there} entries and cents, but summed up as {told.get(where)}"
