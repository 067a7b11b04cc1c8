"""The lease protocol, checked in every order of steps; and that each guard it has is needed."""

import re
from pathlib import Path

import pytest

from tests.model.cases import BROKEN, LIVE, SAFETY, SMALL
from tests.model.tlc import MODULES, Case, NoChecker, check, find_jar, find_java, read_verdict

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "protocol.md").read_text()
FUNCTIONS = {path.stem for path in (ROOT / "src/windlass/sql/code").rglob("*.sql")}

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def checker() -> None:
    try:
        find_jar()
        find_java()
    except NoChecker as missing:
        pytest.skip(f"the protocol's models are not checked: {missing}")


@pytest.mark.usefixtures("checker")
@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_every_order_of_steps_is_safe(case: Case) -> None:
    verdict = check(case)
    assert verdict.refuted is None, verdict.output
    assert verdict.states > 1_000


@pytest.mark.usefixtures("checker")
def test_every_job_ends_while_workers_and_time_go_on() -> None:
    verdict = check(LIVE)
    assert verdict.refuted is None, verdict.output


@pytest.mark.usefixtures("checker")
@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name.replace(" ", "-"))
def test_without_this_guard_a_claim_is_false(case: Case) -> None:
    verdict = check(case)
    assert verdict.refuted == case.refuted_by
    assert set(verdict.trace) & actions(), "the way there is shown, by the names of its steps"


def actions() -> set[str]:
    """The steps of `Next`, by name."""
    text = (MODULES / "Lease.tla").read_text()
    body = text[text.index("Next ==") : text.index("Spec ==")]
    return {"Claim"} | set(re.findall(r"\b([A-Z]\w+)\(", body)) - {"JobsOf"}


def test_the_page_names_each_action_and_the_function_behind_it() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", PAGE, re.MULTILINE))
    assert actions() <= set(rows)
    for action in actions():
        named = set(re.findall(r"`(\w+)`", rows[action]))
        assert named <= FUNCTIONS, f"{action}: {named - FUNCTIONS} is no SQL function"
        assert named or "no function" in rows[action] or "only broken" in rows[action]


def test_the_page_names_each_claim_and_each_variant() -> None:
    for claim in (*SAFETY, "EveryJobEnds"):
        assert f"`{claim}`" in PAGE
    for case in BROKEN:
        assert f"| {case.name} |" in PAGE


def test_what_tlc_says_is_not_taken_for_success() -> None:
    for output in ("", "Error: parsing failed", "5 states generated, 5 distinct states found, 3 states left"):
        with pytest.raises(AssertionError, match="no verdict"):
            read_verdict(output)
