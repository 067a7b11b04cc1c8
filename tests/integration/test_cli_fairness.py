"""`windlass tenants set` and `windlass queues set`: how tenants share, as a person says it."""

from pathlib import Path

import pytest

from tests.integration.command import Command
from tests.support import Database


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    return Command(tmp_path, db.url())


def test_a_weight_is_set_and_listed(windlass: Command) -> None:
    windlass.here("tenants", "create", "acme").ok()
    assert windlass.here("tenants", "set", "acme", "--weight", "3").ok().out == "acme weighs 3\n"
    listed = windlass.here("tenants", "--json").ok().json["items"]
    assert {row["slug"]: row["weight"] for row in listed} == {"acme": 3, "default": 1}


def test_a_weight_that_cannot_be_says_what_can(windlass: Command) -> None:
    failed = windlass.here("tenants", "set", "default", "--weight", "0")
    assert failed.code == 6
    assert "from 1 to 1000" in failed.err


def test_a_queue_takes_a_mode_an_ageing_or_both(windlass: Command) -> None:
    said = windlass.here("queues", "set", "reports", "--ageing", "10m").ok().out
    assert said == "reports is fair, and ages by one in 10m\n"
    windlass.here("queues", "set", "reports", "--mode", "strict").ok()
    shown = windlass.here("queues", "set", "reports", "--ageing", "0", "--json").ok().json
    assert shown == {"name": "reports", "mode": "strict", "ageing_seconds": None}
    assert windlass.here("queues", "set", "reports").code == 6
