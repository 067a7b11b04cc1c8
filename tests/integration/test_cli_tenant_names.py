"""A tenant that is named by its id is asked for: nobody's jobs look like those of a tenant that has none."""

from pathlib import Path

import pytest

from tests.integration.command import Command
from tests.support import Database

NOBODY = "00000000-0000-7000-8000-00000000dead"
COMMANDS = [
    ("jobs", "list"),
    ("jobs", "list", "--all", "--json"),
    ("jobs", "redrive", "--all", "--yes"),
    ("costs",),
    ("audit", "list"),
    ("redrives",),
    ("top",),
    ("limits",),
    ("gates",),
    ("queues",),
    ("enqueue", "add"),
]


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    return Command(tmp_path, db.url())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_an_unknown_id_is_as_unknown_as_an_unknown_slug(windlass: Command, words: tuple[str, ...]) -> None:
    for name in (NOBODY, "nobody"):
        refused = windlass.here(*words, "--tenant", name)
        assert (refused.code, refused.out) == (3, ""), name
        assert f"there is no tenant '{name}'" in refused.err


def test_so_is_the_one_that_the_environment_names(db: Database, tmp_path: Path) -> None:
    assert Command(tmp_path, db.url(), WINDLASS_TENANT=NOBODY).here("jobs", "list").code == 3


def test_a_known_id_is_as_good_as_its_slug(windlass: Command) -> None:
    acme = windlass.here("tenants", "create", "acme").ok().out.strip()
    windlass.here("enqueue", "add", "--tenant", acme).ok()
    assert len(windlass.here("jobs", "list", "--tenant", acme, "--all", "--json").ok().lines) == 1


@pytest.mark.parametrize("words", [("jobs", "list"), ("costs",), ("audit", "list"), ("limits",), ("top",)])
def test_a_bound_login_cannot_tell_a_foreign_id_from_an_unknown_one(
    windlass: Command, db: Database, tmp_path: Path, words: tuple[str, ...]
) -> None:
    acme = windlass.here("tenants", "create", "acme").ok().out.strip()
    other = windlass.here("tenants", "create", "other").ok().out.strip()
    windlass.here("tenants", "bind", "test_reader", "acme").ok()
    bound = Command(tmp_path, db.url("reader"))
    bound.here(*words, "--tenant", acme).ok()
    foreign, unknown = (bound.here(*words, "--tenant", tenant) for tenant in (other, NOBODY))
    assert (foreign.code, unknown.code) == (5, 5)
    assert foreign.err.replace(other, NOBODY) == unknown.err
