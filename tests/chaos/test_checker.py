"""The checker accepts good histories, rejects bad ones by each rule, and shares no code with the product."""

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import checker
from tests.chaos.checker import History, check
from tests.chaos.checker.jobs import JOB_RULES
from tests.chaos.histories import asked, end, lease, line, reject

Change = Callable[[History], Any]


def plain() -> History:
    """One job that ran once."""
    return History(
        calls=asked(),
        ledger=[line("start", 1), line("end", 1, how="ok")],
        grants=[lease(1, 10.0, 15.0)],
        ends=[end(1, 11.0, "succeeded", "succeeded")],
        rows=[{"job": "a", "tenant": "t", "state": "succeeded"}],
    )


def crashed() -> History:
    """One job whose first worker died: it ran again after the lease had run out."""
    return History(
        calls=asked(),
        ledger=[line("start", 1), line("start", 2), line("end", 2, how="ok")],
        grants=[lease(1, 10.0, 15.0), lease(2, 15.6, 20.0)],
        ends=[end(1, 15.5, "crashed"), end(2, 16.0, "succeeded", "succeeded")],
        rows=[{"job": "a", "tenant": "t", "state": "succeeded"}],
    )


def canceled() -> History:
    calls = [*asked(), {"call": 2, "step": "invoke", "verb": "cancel", "jobs": [{"job": "a"}]}]
    return History(calls=calls, rows=[{"job": "a", "tenant": "t", "state": "canceled"}])


def retried() -> History:
    """It failed, waited and succeeded; then the same with a release and a snooze, which do not count."""
    outcomes = ["failed", "released", "snoozed", "succeeded"]
    return History(
        calls=asked(retry_wait=2.0, snooze_wait=1.0, max_attempts=2, run_at=9.5),
        ledger=[line("start", n) for n in (1, 2, 3, 4)]
        + [line("end", 1, how="error"), line("end", 4, how="ok")],
        grants=[lease(1, 10.0, 15.0), lease(2, 13.0, 18.0), lease(3, 13.2, 18.0), lease(4, 15.0, 20.0)],
        ends=[
            end(n, at, o) for n, at, o in zip((1, 2, 3, 4), (11.0, 13.1, 14.0, 16.0), outcomes, strict=True)
        ],
        rows=[{"job": "a", "tenant": "t", "state": "succeeded"}],
    )


def unanswered() -> History:
    """The producer never heard; the job is not there, which is one of the two things that may be."""
    return History(calls=asked(None))


def refused() -> History:
    return History(calls=asked("fail"))


GOOD = [History, plain, crashed, canceled, retried, unanswered, refused]


@pytest.mark.parametrize("make", GOOD)
def test_a_good_history_is_accepted(make: Callable[[], History]) -> None:
    assert {name: why for name, why in check(make()).items() if why} == {}


BAD: list[tuple[str, str, Callable[[], History], Change]] = [
    ("lost", "acknowledged, and not there", plain, lambda h: h.rows.clear()),
    ("lost", "no handler ended it", plain, lambda h: h.ledger.pop()),
    ("lost", "given up after 0", plain, lambda h: h.rows[0].update(state=_without_ends(h))),
    ("lost", "nobody asked for that", plain, lambda h: h.rows[0].update(state="canceled")),
    ("lost", "without an attempt", plain, lambda h: h.ends.clear()),
    ("never begun", "no handler was called", plain, lambda h: h.rows[0].update(state=_without_start(h))),
    ("unexpected", "nobody asked for it", plain, lambda h: h.calls.clear()),
    ("unexpected", "refused, and there", plain, lambda h: h.calls[1].update(step="fail")),
    ("unexpected", "without a lease", plain, lambda h: h.grants.clear()),
    ("unexpected", "not granted", plain, lambda h: h.ledger[0].update(token="other")),
    ("unexpected", "two rows", plain, lambda h: h.rows.append(dict(h.rows[0]))),
    ("unexpected", "ends of version 1 twice", plain, lambda h: h.ends.append(dict(h.ends[0]))),
    ("double-accepted", "2 times", crashed, lambda h: h.ends[0].update(outcome="succeeded")),
    ("double-accepted", "came after it", crashed, lambda h: h.ends[0].update(ends="dead")),
    ("double-accepted", "claimed again", plain, lambda h: h.grants.append(lease(2, 30.0, 35.0))),
    ("unjustified duplicates", "started 2 times", plain, lambda h: h.ledger.append(line("start", 1))),
    ("unjustified duplicates", "before its time", crashed, lambda h: h.grants[0].update(expires_at=15.9)),
    ("unjustified duplicates", "has no end", crashed, lambda h: h.ends.pop(0)),
    ("unjustified duplicates", "ended well", retried, lambda h: h.ledger[4].update(how="ok")),
    ("overlapping leases", "held its lease", crashed, lambda h: h.grants[1].update(at=15.4)),
    ("overlapping leases", "granted before version 1", crashed, lambda h: h.grants.pop(0)),
    ("overlapping leases", "one token", crashed, lambda h: h.grants[1].update(token="k1")),
    ("attempts over the cap", "2 counted attempts of 1", crashed, lambda h: _told(h, max_attempts=1)),
    ("early starts", "before it was due", plain, lambda h: _told(h, run_at=10.5)),
    ("early starts", "a wait of 2.5 s", retried, lambda h: _told(h, retry_wait=2.5)),
    ("early starts", "a wait of 1.5 s", retried, lambda h: _told(h, snooze_wait=1.5)),
    ("stranded", "still queued", plain, lambda h: h.rows[0].update(state="queued")),
    ("stranded", "still running", plain, lambda h: h.rows[0].update(state="running")),
    ("cross-tenant rows", "rows name the tenant x", plain, lambda h: h.rows[0].update(tenant="x")),
    ("cross-tenant rows", "ledger name the tenant x", plain, lambda h: h.ledger[0].update(tenant="x")),
    ("cross-tenant rows", "grants name the tenant x", plain, lambda h: h.grants[0].update(tenant="x")),
]


def _without_ends(history: History) -> str:
    history.ends.clear()
    return "dead"


def _without_start(history: History) -> str:
    history.ledger.clear()
    return "dead"


def _told(history: History, **facts: Any) -> None:
    history.calls[0]["jobs"][0].update(facts)


@pytest.mark.parametrize(("rule", "why", "make", "change"), BAD, ids=[f"{b[0]}: {b[1]}" for b in BAD])
def test_a_bad_history_is_rejected(rule: str, why: str, make: Callable[[], History], change: Change) -> None:
    reject(make(), change, rule, why)


def test_every_rule_about_a_job_has_a_history_that_breaks_it() -> None:
    assert {rule for rule, *_ in BAD} == set(JOB_RULES)


def test_the_checker_imports_nothing_but_the_standard_library_and_itself() -> None:
    modules = sorted(Path(checker.__file__ or "").parent.glob("*.py"))
    assert len(modules) > 3
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Import):
                assert {name.name.partition(".")[0] for name in node.names} <= sys.stdlib_module_names
            elif isinstance(node, ast.ImportFrom):
                source = str(node.module)
                own = source.startswith("tests.chaos.checker.")
                assert own or source.partition(".")[0] in sys.stdlib_module_names, f"{module.name}: {source}"
