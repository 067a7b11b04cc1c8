"""Cluster jobs, checked in every order of steps; and that each guard they have is needed."""

import re

import pytest

from tests.model.cluster_cases import CLUSTER_BROKEN, CLUSTER_BROKEN_LIVE, CLUSTER_SAFETY, CLUSTER_SMALL
from tests.model.test_lease_model import FUNCTIONS, PAGE, checker
from tests.model.tlc import MODULES, Case, check

__all__ = ["checker"]

PART = PAGE[PAGE.index("# Cluster jobs") :]

pytestmark = pytest.mark.timeout(600)


@pytest.mark.usefixtures("checker")
@pytest.mark.parametrize("case", CLUSTER_SMALL, ids=lambda case: case.name.replace(" ", "-"))
def test_every_order_of_steps_is_safe(case: Case) -> None:
    verdict = check(case)
    assert verdict.refuted is None, verdict.output
    assert verdict.states > 1_000


@pytest.mark.usefixtures("checker")
@pytest.mark.parametrize("case", CLUSTER_BROKEN, ids=lambda case: case.name.replace(" ", "-"))
def test_without_this_guard_a_claim_is_false(case: Case) -> None:
    verdict = check(case)
    assert verdict.refuted == case.refuted_by
    assert set(verdict.trace) & actions(), "the way there is shown, by the names of its steps"


def actions() -> set[str]:
    """The steps of `Next`, by name."""
    text = (MODULES / "Cluster.tla").read_text()
    body = text[text.index("Next ==") : text.index("Spec ==")]
    return {"LeadLapses", "Cancel", "Hurry"} | set(re.findall(r"\b([A-Z]\w+)\(", body))


def test_the_page_names_each_action_and_the_function_behind_it() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", PART, re.MULTILINE))
    assert actions() <= set(rows)
    for action in actions():
        named = set(re.findall(r"`(\w+)`", rows[action]))
        assert named <= FUNCTIONS, f"{action}: {named - FUNCTIONS} is no SQL function"
        assert named or "no function" in rows[action] or "only broken" in rows[action]


def test_the_page_names_each_claim_and_each_variant() -> None:
    for claim in (*CLUSTER_SAFETY, "EveryJobEnds"):
        assert f"`{claim}`" in PART
    for case in (*CLUSTER_BROKEN, CLUSTER_BROKEN_LIVE):
        assert f"| {case.name} | `{case.refuted_by}` |" in PART
