"""What is to be judged: plain records, and the same job by job.

`calls`: what producers asked for and how it was answered.  `ledger`: what handlers wrote to a file as they
began, ended and spent.  `grants` and `ends`: every lease and every end of an attempt, as triggers saw them,
by the database's clock.  `rows`: the jobs that are there at last.  `limits`: what was set before the first
job.  `costs` and `sums`: what the database says was spent, one by one and added up.
"""

import math
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]

SUCCESS = frozenset({"succeeded", "skipped"})


@dataclass
class History:
    calls: list[Record] = field(default_factory=list)
    ledger: list[Record] = field(default_factory=list)
    grants: list[Record] = field(default_factory=list)
    ends: list[Record] = field(default_factory=list)
    rows: list[Record] = field(default_factory=list)
    limits: list[Record] = field(default_factory=list)
    costs: list[Record] = field(default_factory=list)
    sums: list[Record] = field(default_factory=list)


@dataclass
class Story:
    """All that is known of one job."""

    job: str
    asked: list[Record] = field(default_factory=list)
    """The enqueues that named it: each with its place in the call, and its `answer`, ok, fail or unknown."""
    cancels: int = 0
    ledger: list[Record] = field(default_factory=list)
    grants: dict[int, Record] = field(default_factory=dict)
    ends: dict[int, Record] = field(default_factory=dict)
    row: Record | None = None
    twice: list[str] = field(default_factory=list)
    """What the database wrote twice and must write once."""

    @property
    def acknowledged(self) -> bool:
        return any(call["answer"] == "ok" for call in self.asked)

    @property
    def wanted(self) -> bool:
        """Whether somebody asked for it and was not told that it is refused."""
        return any(call["answer"] != "fail" for call in self.asked)

    @property
    def invoked_at(self) -> float:
        """Before this nobody can have known of it."""
        return min((call["invoked_at"] for call in self.asked), default=math.inf)

    @property
    def answered_at(self) -> float:
        """From then on it was there for certain."""
        return min((call["answered_at"] for call in self.asked if call["answer"] == "ok"), default=math.inf)

    def accepted(self) -> list[int]:
        return sorted(version for version, end in self.ends.items() if end["outcome"] in SUCCESS)

    def noted(self, what: str, version: int | None = None) -> list[Record]:
        return [
            line
            for line in self.ledger
            if line["what"] == what and (version is None or line["version"] == version)
        ]


def tell(history: History) -> dict[str, Story]:
    """The history, job by job."""
    stories = _Stories()
    answers = {line["call"]: line for line in history.calls if line["step"] != "invoke"}
    for line in history.calls:
        if line["step"] == "invoke":
            _tell_call(stories, line, answers.get(line["call"], {"step": "unknown"}))
    for line in history.ledger:
        stories[line["job"]].ledger.append(line)
    for name in ("grants", "ends"):
        for line in getattr(history, name):
            one = stories[line["job"]]
            if line["version"] in getattr(one, name):
                one.twice.append(f"{name} of version {line['version']} twice")
            getattr(one, name)[line["version"]] = line
    for row in history.rows:
        one = stories[row["job"]]
        if one.row is not None:
            one.twice.append("two rows")
        one.row = row
    return stories


class _Stories(dict[str, Story]):
    def __missing__(self, job: str) -> Story:
        self[job] = Story(job)
        return self[job]


def _tell_call(stories: _Stories, line: Record, answer: Record) -> None:
    for place, job in enumerate(line["jobs"]):
        if line["verb"] == "enqueue":
            stories[job["job"]].asked.append(
                {
                    **job,
                    "call": line["call"],
                    "place": place,
                    "invoked_at": line.get("mono", -math.inf),
                    "answer": answer["step"],
                    "answered_at": answer.get("mono", math.inf),
                }
            )
        elif line["verb"] == "cancel" and answer["step"] != "fail":
            stories[job["job"]].cancels += 1
