"""Whatever a Python caller gives, the answer is an error of ours that says what to give instead."""

import math
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.support import Database
from windlass import InvalidInput, NewJob, RetryPolicy, Windlass, WindlassError

Call = Callable[[Any], object]


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError


WRONG: list[Any] = [
    *("", "x" * 5000, "\0", "\ud800", b"x", 0, -1, 1, True, 1.5, math.nan, math.inf, 10**400, -(10**5000)),
    *([], {}, set(), [None], [[]], object(), Mute(), timedelta.max, timedelta.min, 5j, ValueError),
    *(datetime.max, datetime(2030, 1, 1), date(2030, 1, 1), UUID(int=0)),  # noqa: DTZ001, DTZ901
]
JOB = UUID(int=5)


class Shop:
    def __init__(self, url: str) -> None:
        self.app = app = Windlass(url)

        @app.job(queue="fz")
        def add(n: int) -> int:
            return n

        @app.job(queue="fz", concurrency_key="n")
        def keyed(n: int) -> int:
            return n

        self.add, self.keyed = add, keyed


@pytest.fixture
def shop(db: Database) -> Iterator[Shop]:
    shop = Shop(db.url())
    with shop.app:
        yield shop


def calls(shop: Shop) -> dict[str, Call]:
    client, add = shop.app.sync, shop.add
    made: dict[str, Call] = {
        "enqueue": client.enqueue,
        "enqueue_jobs": client.enqueue_jobs,
        "enqueue_jobs one": lambda value: client.enqueue_jobs([NewJob(kind="k", payload={}), value]),
        "enqueue_fitting": lambda value: client.enqueue_fitting([value]),
        "enqueue_many": add.enqueue_many_sync,
        "enqueue_many keyed": shop.keyed.enqueue_many_sync,
        "enqueue_many one": lambda value: shop.keyed.enqueue_many_sync([value]),
        "create_cluster_job": client.create_cluster_job,
        "wait timeout": lambda value: client.wait_job(JOB, timeout=0 if value is None else value),
        "get_job": client.get_job,
        "settings": lambda value: Windlass(settings=value),
        "tenant": lambda value: client.handle(JOB, tenant=value),
        "own tenant": lambda value: Windlass(shop.app.database_url, tenant=value).sync.handle(JOB),
        "create_tenant": client.create_tenant,
        "history limit": lambda value: client.list_history(JOB, limit=value),
        "list_nodes": lambda value: client.list_nodes(stopped=value),
    }
    named: dict[str, tuple[Callable[..., object], dict[str, Any], str]] = {
        "options": (
            lambda **said: add.options(**said).enqueue_sync(1),
            {},
            "queue priority max_attempts retry timeout run_at delay key scope tenant id concurrency_key",
        ),
        "new": (NewJob, {"kind": "k", "payload": {}}, "id retry delay timeout scope priority"),
        "job": (
            lambda **said: Windlass().job(**said)(lambda n: n),
            {"kind": "k"},
            "kind queue priority max_attempts retry timeout isolation concurrency_key",
        ),
        "policy": (RetryPolicy, {}, "base_seconds factor cap_seconds jitter max_attempts"),
        "list_jobs": (
            client.list_jobs,
            {},
            "states queues kinds correlation_id created_from limit cursor tenant",
        ),
        "redrive_jobs": (
            client.redrive_jobs,
            {"dry_run": True},
            "jobs kinds queues error_like finished_from limit max_attempts reason actor everything",
        ),
        "redrive": (
            shop.app.redrive_sync,
            {"everything": True},
            "jobs kinds died_from patch max_attempts throttle stop_rate stop_after reason tenant",
        ),
        "reschedule": (client.reschedule_job, {"job_id": UUID(int=6)}, "run_at delay priority reason"),
        "set_gate": (client.set_gate, {"queue": "q"}, "tenant queue kind node reason expires_at release"),
        "set_limit": (
            client.set_limit,
            {"queue": "q", "rate": 1, "per": 1},
            "tenant queue kind concurrency rate per burst depth budget_cents budget_period reason",
        ),
        "clear_limit": (client.clear_limit, {"queue": "q"}, "what queue"),
        "set_queue": (client.set_queue, {"queue": "q"}, "queue mode ageing_seconds reason"),
        "set_tenant": (client.set_tenant, {"tenant": "default", "weight": 1}, "tenant weight reason"),
        "worker": (
            shop.app.worker,
            {},
            "queues concurrency lease_seconds poll_seconds grace_seconds node_name",
        ),
    }
    for what, (function, given, names) in named.items():
        for name in names.split():
            made[f"{what} {name}"] = _with(function, given, name)
    return made


def _with(function: Callable[..., object], given: dict[str, Any], name: str) -> Call:
    return lambda value: function(**{**given, name: value})


def test_whatever_is_given_the_error_is_one_of_ours(shop: Shop) -> None:
    escaped = []
    for what, call in calls(shop).items():
        for number, value in enumerate(WRONG):
            try:
                call(value)
            except WindlassError as error:
                if type(error) is WindlassError:
                    escaped.append((what, number, str(error)[:200]))
            except Exception as error:
                escaped.append((what, number, f"{type(error).__name__}: {error}"[:200]))
    assert escaped == []


SENTENCES: dict[str, tuple[Any, str]] = {
    "options retry": (5, "retry is a RetryPolicy or the name of a preset, not 5"),
    "options delay": (10**400, r"the delay must be from 0 to 315360000 seconds, not 10{99}…$"),
    "options timeout": (10**400, "the timeout must be from 0.001 to 2000000 seconds"),
    "options id": ("7", "the id must be a UUID, not '7'"),
    "wait timeout": (10**400, "a timeout is a number of seconds"),
    "enqueue_jobs one": ({}, r"{} is no job: describe it with NewJob\(kind=…, payload=…\)"),
    "enqueue_many": (5, "payloads are given as a list, not as 5"),
    "tenant": ([], r"a tenant is named by its slug or its id, not by \[\]"),
    "list_jobs states": (5, "names are given as a list, not as 5"),
    "reschedule delay": (math.nan, "the delay must be a number of seconds or a timedelta, not nan"),
    "worker lease_seconds": (10**400, "a worker's lease_seconds are a number of seconds"),
    "set_queue mode": ({}, "a dict is no value that the database could take here"),
    "list_nodes": (5, "cannot cast type smallint to boolean"),
    "reschedule priority": (1.5, "the priority must be a whole number from -32768 to 32767, not 1.5"),
    "list_jobs limit": ("5", "the limit is a whole number, not '5'"),
    "history limit": (1.5, "the limit is a whole number, not 1.5"),
    "settings": ({}, r"settings are made by Settings.from_env\(…\)"),
}


@pytest.mark.parametrize("one", [{"to": "a@b"}, "a@b", b"a@b"])
def test_one_payload_is_not_taken_for_many(shop: Shop, one: object) -> None:
    with pytest.raises(InvalidInput, match="payloads are given as a list, not as "):
        calls(shop)["enqueue_many"](one)


@pytest.mark.parametrize("what", SENTENCES)
def test_the_sentence_says_what_to_give(shop: Shop, what: str) -> None:
    value, sentence = SENTENCES[what]
    with pytest.raises(InvalidInput, match=sentence):
        calls(shop)[what](value)


def test_an_error_of_whoever_makes_the_payloads_is_theirs(shop: Shop) -> None:
    def payloads() -> Iterator[int]:
        yield 1
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        shop.add.enqueue_many_sync(payloads())
    assert list(shop.app.sync.list_jobs()) == []
