"""What handlers return and raise, however strange: kept exactly, or the attempt fails and says why."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.hostile.values import REFUSED_JSON, STORABLE_JSON, UNSTORABLE, same, storable_texts
from tests.hostile.watch import read_by_command, read_everything
from tests.integration.crew import Crew, until
from tests.support import Database
from windlass import Cancel, RetryAfter, Skip
from windlass.client import SyncClient

TEXTS = storable_texts()
ANY_TEXT = [*TEXTS, *UNSTORABLE.values(), "x" * 10_000_000, "\x00" * 100_000, '"\\' * 100_000]


@pytest.fixture(autouse=True)
def no_log(caplog: pytest.LogCaptureFixture) -> None:
    """What is logged here is text that cannot be sent from one test process to another."""
    caplog.set_level(logging.CRITICAL + 1, logger="windlass")


class Sly(Exception):
    """An exception whose own text cannot be made."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Endless(Exception):
    def __str__(self) -> str:
        return str(Endless())


def unraisable() -> list[BaseException]:
    odd = type("odd", (Exception,), {"__module__": "m\x00"})
    odd.__qualname__ = "a\x00b\ud800" + "x" * 100_000
    group = ExceptionGroup("g\ud800", [ValueError("\x00"), Sly()])
    return [
        Sly(),
        Endless(),
        odd("odd"),
        group,
        UnicodeEncodeError("utf-8", "\ud800", 0, 1, "why"),
        KeyError(),
    ]


async def run_all(crew: Crew, decide: Callable[[int], Any], count: int, *, room: str) -> list[UUID]:
    """One job for each number; `decide` says what its handler does."""

    def sync_kind(number: int) -> Any:
        return decide(number)

    async def async_kind(number: int) -> Any:
        return decide(number)

    crew.knows(sync_kind if room == "thread" else async_kind, kind="hostile", max_attempts=1)
    ids = crew.enqueue_many(
        [{"kind": "hostile", "payload": {"number": n}, "max_attempts": 1} for n in range(count)]
    )
    async with crew.worker(concurrency=16):
        ends = ("succeeded", "dead", "canceled", "skipped")
        await until(lambda: sum(map(crew.count, ends)) == count, "every job has ended")
    return ids


@pytest.mark.parametrize("room", ["loop", "thread"])
async def test_results(db: Database, client: SyncClient, tmp_path: Path, room: str) -> None:
    good = [*STORABLE_JSON.values(), *TEXTS]
    refused = [
        value for what, value in REFUSED_JSON.items() if what not in ("bytes", "a set", "a number for a key")
    ]
    bad = [*refused, *UNSTORABLE.values()]
    values = [*good, *bad]
    ids = await run_all(Crew(db), lambda number: {"v": values[number]}, len(values), room=room)
    found = read_everything(db, client)
    for id, value in zip(ids, good, strict=False):
        assert found[id].state == "succeeded"
        assert same(found[id].result["v"], value)
    for id in ids[len(good) :]:
        assert (found[id].state, found[id].result) == ("dead", None)
        assert "InvalidInput" in found[id].error["type"]
    assert set(read_by_command(db, tmp_path)) == set(ids)


@pytest.mark.parametrize("room", ["loop", "thread"])
async def test_errors(db: Database, client: SyncClient, tmp_path: Path, room: str) -> None:
    errors = [*map(ValueError, ANY_TEXT), *unraisable()]

    def decide(number: int) -> None:
        raise errors[number]

    ids = await run_all(Crew(db), decide, len(errors), room=room)
    found = read_everything(db, client)
    for id, error in zip(ids, errors, strict=True):
        assert found[id].state == "dead"
        assert set(found[id].error) == {"type", "message", "traceback"}
        if type(error) is ValueError and error.args[0] in TEXTS and len(error.args[0]) < 10_000:
            assert found[id].error["message"] == error.args[0], "what can be stored is stored as it is"
    assert set(read_by_command(db, tmp_path)) == set(ids)


DECISIONS: dict[str, tuple[Callable[[str], Any], str]] = {
    "cancel": (Cancel, "canceled"),
    "skip": (Skip, "skipped"),
    "retry": (lambda reason: RetryAfter(0, reason), "dead"),
}


@pytest.mark.parametrize("decision", DECISIONS)
async def test_reasons(db: Database, client: SyncClient, tmp_path: Path, decision: str) -> None:
    make, state = DECISIONS[decision]
    ids = await run_all(Crew(db), lambda number: make(ANY_TEXT[number]), len(ANY_TEXT), room="loop")
    found = read_everything(db, client)
    for id, text in zip(ids, ANY_TEXT, strict=True):
        assert found[id].state == state
        kept = found[id].result if decision == "skip" else found[id].error
        if text and len(text.encode(errors="ignore")) < 1_000 and text not in UNSTORABLE.values():
            assert text in kept.values()
    assert set(read_by_command(db, tmp_path)) == set(ids)
