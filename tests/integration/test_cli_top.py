"""`windlass top`: everything at a glance, once for scripts and again and again for people."""

import itertools
from pathlib import Path

import pytest

from tests.integration.command import Command
from tests.integration.proxy import Proxy
from tests.support import Database
from windlass import Unavailable
from windlass.cli.top import watch
from windlass.client import SyncClient
from windlass.settings import Settings

NODE = "00000000-0000-7000-8000-00000000000a"


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    """Two tenants with jobs; a node that runs one of them."""
    windlass = Command(tmp_path, db.url())
    windlass.here("tenants", "create", "acme").ok()
    windlass.here("enqueue", "greet", "--queue", "mail").ok()
    windlass.here("enqueue", "greet", "--queue", "mail").ok()
    windlass.here("enqueue", "greet", "--tenant", "acme", "--delay", "1h").ok()
    db.fetch("select windlass.heartbeat_node(%s, 'mill', p_concurrency => 4)", NODE)
    db.fetch("select windlass.claim_jobs(%s, array['mail'], p_limit => 1)", NODE)
    return windlass


def test_a_script_gets_one_look(windlass: Command) -> None:
    look = windlass.here("top", "--json").ok().json
    assert (look["ready"], look["scheduled"], look["running"], look["gates"]) == (1, 1, 1, 0)
    queues = {queue["name"]: (queue["ready"], queue["running"]) for queue in look["queues"]}
    assert queues == {"mail": (1, 1), "default": (0, 0)}
    assert [(node["name"], node["running"]) for node in look["nodes"]] == [("mill", 1)]
    assert [(tenant["slug"], tenant["scheduled"]) for tenant in look["tenants"]] == [
        ("acme", 1),
        ("default", 0),
    ]
    theirs = windlass.here("top", "--json", "--tenant", "acme").ok().json
    assert (theirs["ready"], theirs["scheduled"], theirs["tenants"]) == (0, 1, [])
    assert len(windlass.here("top", "--json", "--count", 2, "--interval", "100ms").ok().lines) == 2


def test_a_bound_login_sees_its_tenant_and_nobody_elses_nodes(
    windlass: Command, db: Database, tmp_path: Path
) -> None:
    windlass.here("tenants", "bind", "test_operator", "acme").ok()
    look = Command(tmp_path, db.url("operator")).here("top", "--json").ok().json
    assert (look["ready"], look["scheduled"], look["running"], look["nodes"]) == (0, 1, 0, [])
    assert [tenant["slug"] for tenant in look["tenants"]] == ["acme"]


def test_a_pipe_gets_tables_with_the_busiest_first(windlass: Command) -> None:
    windlass.here("gates", "set", "--queue", "mail").ok()
    headline, _, *rest = windlass.here("top").ok().out.splitlines()
    assert headline.endswith("  1 ready, 1 scheduled, 1 running; 1 node, 1 of 4 slots busy; 1 gate")
    assert [line.split()[0] for line in rest if line] == [
        *("QUEUE", "mail", "default"),
        *("NODE", "mill"),
        *("TENANT", "default", "acme"),
    ]
    assert rest[1].split()[-1] == "gated"


def test_a_terminal_is_drawn_anew_at_each_look(windlass: Command) -> None:
    shown = windlass.on_terminal("top", "--count", 3, "--interval", "100ms").ok().out
    assert shown.count("1 ready, 1 scheduled, 1 running") == 3
    assert "\x1b[?1049h" in shown
    assert shown.index("\x1b[?1049l") > shown.rindex("TENANT")


def test_it_outlives_a_database_that_is_away(windlass: Command, db: Database, tmp_path: Path) -> None:
    proxy = Proxy(db.url(), tmp_path)
    with SyncClient(Settings(database_url=proxy.url), patience=0.05, pool_size=1) as client:
        looks = watch(client, None, 0.01, None)
        before, fault = next(looks)
        assert (before.ready, fault) == (1, None)
        proxy.refuse()
        stale, fault = next(looks)
        assert (stale, type(fault)) == (before, Unavailable)
        proxy.accept()
        windlass.here("enqueue", "greet").ok()
        fresh = next(look for look, fault in itertools.islice(looks, 1000) if fault is None)
        assert fresh.ready == 2
    proxy.refuse()
