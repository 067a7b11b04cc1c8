"""The actions of the audit: what SQL records is what may be asked for, and what is documented."""

import re
from pathlib import Path

import pytest

from windlass import InvalidInput
from windlass.model.event import ACTIONS, check_actions

ROOT = Path(__file__).parents[2]
CODE = "\n".join(path.read_text() for path in sorted((ROOT / "src/windlass/sql/code").rglob("*.sql")))
NOUNS = {action.partition(".")[0] for action in ACTIONS}


def test_every_action_that_is_recorded_is_known() -> None:
    written = set(re.findall(rf"'((?:{'|'.join(NOUNS)})\.[a-z_]+)'", CODE))
    composed = {action for action in ACTIONS - written if f"'{action.partition('.')[0]}.' ||" in CODE}
    assert written | composed == ACTIONS


def test_every_action_is_documented() -> None:
    documented = set(re.findall(r"`([a-z]+\.(?:[a-z_]+|\*))`", (ROOT / "docs/audit.md").read_text()))
    assert not {action for action in ACTIONS if not {action, f"{action.partition('.')[0]}.*"} & documented}


def test_another_is_refused() -> None:
    assert check_actions(["job.cancel", "gate.set"]) == ["job.cancel", "gate.set"]
    with pytest.raises(
        InvalidInput, match=r"'job.cancle' is no action of the audit: did you mean job.cancel"
    ):
        check_actions(["job.dead", "job.cancle"])
    with pytest.raises(InvalidInput, match=r"'zzz' is no action of the audit, such as job.cancel"):
        check_actions(["zzz"])
