"""Limits, keys and costs: good histories of several jobs are accepted, and bad ones rejected by each rule."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.chaos.checker import CROWD_RULES, History, check
from tests.chaos.histories import end, lease, line, reject

Change = Callable[[History], Any]


def one_call(*jobs: str, call: int = 1, at: float = 1.0, **facts: Any) -> list[dict[str, Any]]:
    """An enqueue of these jobs, answered half a second later."""
    told = [{"job": job, "tenant": "t", "kind": "k", "max_attempts": 9, **facts} for job in jobs]
    invoke = {"call": call, "step": "invoke", "verb": "enqueue", "jobs": told, "mono": at}
    return [invoke, {"call": call, "step": "ok", "mono": at + 0.5}]


def ran(history: History, job: str, *spans: tuple[float, float, str]) -> None:
    """The job's attempts: from when to when, and how each ended."""
    for version, (since, until, outcome) in enumerate(spans, 1):
        last = outcome if version == len(spans) else None
        history.grants.append(lease(version, since, until, job=job, claimed_at=since - 0.01))
        history.ends.append(end(version, until, outcome, last, job=job))
        history.ledger += [line(what, version, job=job, how="ok") for what in ("start", "end")]
        if outcome == "failed":
            history.ledger[-1]["how"] = "error"
    history.rows.append({"job": job, "tenant": "t", "state": spans[-1][2]})


def limited() -> History:
    """Of tenant t at most two run; of kind k two may start at once, and one more in each second."""
    history = History(
        calls=one_call("a", "b", "c"),
        limits=[
            {"tenant": "t", "kind": None, "concurrency": 2, "rate": None},
            {"tenant": None, "kind": "other", "concurrency": 0, "rate": None},
            {"tenant": None, "kind": "k", "concurrency": None, "rate": 2, "per": 2.0, "burst": 2},
        ],
    )
    ran(history, "a", (10.0, 12.0, "succeeded"))
    ran(history, "b", (10.0, 11.0, "crashed"), (12.5, 13.0, "succeeded"))
    ran(history, "c", (11.0, 14.0, "succeeded"))
    return history


def in_turn() -> History:
    """Two of one call and one of a later call: each has its turn to its end, the first through a retry."""
    history = History(calls=one_call("a", "b", key="x") + one_call("c", call=2, at=2.0, key="x"))
    ran(history, "a", (10.0, 11.0, "failed"), (12.0, 13.0, "succeeded"))
    ran(history, "b", (13.1, 14.0, "succeeded"))
    ran(history, "c", (14.1, 15.0, "succeeded"))
    return history


def passed_on() -> History:
    """Canceled while it waited for its retry: the other may begin at once.  Their calls overlapped."""
    history = History(calls=one_call("a", key="x") + one_call("b", call=2, at=1.2, key="x"))
    ran(history, "b", (10.0, 11.0, "failed"))
    history.ends[0]["ends"] = None
    history.rows[0]["state"] = "canceled"
    history.calls.append({"call": 3, "step": "invoke", "verb": "cancel", "jobs": [{"job": "b"}]})
    ran(history, "a", (11.2, 12.0, "succeeded"))
    return history


def spent() -> History:
    """One cost acknowledged, one refused that came too late, one whose answer nobody heard."""
    history = History(calls=one_call("a"))
    ran(history, "a", (10.0, 11.0, "crashed"), (12.0, 13.0, "succeeded"))
    for entry, version, answer in (("one", 2, "ok"), ("late", 1, "refused"), ("mute", 1, None)):
        facts = {"entry": entry, "cents": 5}
        history.ledger.append(line("cost", version, how="said", **facts))
        history.ledger += [line("cost", version, how=answer, **facts)] if answer else []
    written = {"job": "a", "tenant": "t", "cents": 5}
    history.costs.append({**written, "entry": "one", "version": 2, "at": 12.5})
    history.costs.append({**written, "entry": "mute", "version": 1, "at": 10.5})
    history.sums.append({"tenant": "t", "kind": "k", "entries": 2, "cents": 10})
    return history


@pytest.mark.parametrize("make", [limited, in_turn, passed_on, spent])
def test_a_good_history_is_accepted(make: Callable[[], History]) -> None:
    assert {name: why for name, why in check(make()).items() if why} == {}


def _moved(records: str, index: int, **facts: Any) -> Change:
    return lambda history: getattr(history, records)[index].update(facts)


def _asked_anew(*calls: list[dict[str, Any]]) -> Change:
    return lambda history: history.calls.__setitem__(slice(None), [line for call in calls for line in call])


BAD: list[tuple[str, str, Callable[[], History], Change]] = [
    ("over a limit", "tenant t: c was the 3th of 2", limited, _moved("ends", 1, at=11.1)),
    ("over a limit", "tenant t: c was the 3th of 2", limited, lambda h: h.ends.pop(1)),
    ("over a limit", "kind other: a was the 1th of 0", limited, _asked_anew(one_call("a", kind="other"))),
    ("over a limit", "kind k: c began 0.500 s too soon", limited, _moved("grants", 3, claimed_at=10.49)),
    ("over a limit", "claimed 1.000 s after it was granted", limited, _moved("grants", 3, claimed_at=12.0)),
    ("out of turn", "b began while a had its turn", in_turn, _moved("grants", 2, at=12.9)),
    ("out of turn", "b began while a had its turn", in_turn, _moved("grants", 2, at=11.5)),
    ("out of turn", "c began while b had its turn", in_turn, lambda h: h.ends.pop(2)),
    (
        "out of turn",
        "c was there before b was asked for",
        in_turn,
        _asked_anew(one_call("c", key="x"), one_call("a", "b", call=2, at=2.0, key="x")),
    ),
    ("out of turn", "b stood before a in one call", in_turn, _asked_anew(one_call("b", "a", "c", key="x"))),
    ("wrong costs", "one: acknowledged, and not there", spent, lambda h: h.costs.pop(0)),
    ("wrong costs", "one: written 2 times", spent, lambda h: h.costs.append(h.costs[0])),
    ("wrong costs", "nobody said it", spent, _moved("costs", 0, entry="two")),
    ("wrong costs", "cents 5, written with 6", spent, _moved("costs", 0, cents=6)),
    ("wrong costs", "tenant t, written with u", spent, _moved("costs", 0, tenant="u")),
    ("wrong costs", "written 0.500 s after version 1 had ended", spent, _moved("costs", 1, at=11.5)),
    ("wrong costs", "held no lease yet", spent, _moved("costs", 0, at=11.9)),
    (
        "wrong costs",
        "late: written 1.000 s after",
        spent,
        lambda h: h.costs.append({**h.costs[1], "entry": "late", "at": 12.0}),
    ),
    ("wrong costs", "kind k of t: (2, 10)", spent, _moved("sums", 0, cents=15)),
    ("wrong costs", "summed up as None", spent, lambda h: h.sums.clear()),
]


@pytest.mark.parametrize(("rule", "why", "make", "change"), BAD, ids=[f"{b[0]}: {b[1]}" for b in BAD])
def test_a_bad_history_is_rejected(rule: str, why: str, make: Callable[[], History], change: Change) -> None:
    reject(make(), change, rule, why)


def test_every_rule_about_many_jobs_has_a_history_that_breaks_it() -> None:
    assert {rule for rule, *_ in BAD} == set(CROWD_RULES)
