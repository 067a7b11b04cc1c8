"""What the driver of Windlass runs with: what its page says of it."""

import logging
import re
from collections.abc import Iterator

import pytest

from bench.drivers.handlers import VARIANTS, make_app
from bench.drivers.protocol import BEAT_SECONDS
from bench.drivers.windlass import WindlassDriver
from bench.process import ROOT
from bench.systems.own import windlass
from bench.workloads.features import TITLES
from windlass.telemetry.logs import CommandHandler, JsonFormatter


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    root.setLevel(level)
    root.handlers[:] = before


def test_its_log_is_that_of_a_worker_process() -> None:
    WindlassDriver({"url": "postgresql://nowhere/x"})._log.close()
    (handler,) = [known for known in logging.getLogger().handlers if isinstance(known, CommandHandler)]
    assert isinstance(handler.formatter, JsonFormatter)
    logger = logging.getLogger("windlass.worker")
    assert logger.isEnabledFor(logging.INFO)
    assert not logger.isEnabledFor(logging.DEBUG)


def test_its_settings_say_on_which_loop_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.systems.own.find_spec", lambda name: object())
    assert "uvloop" in windlass().settings
    monkeypatch.setattr("bench.systems.own.find_spec", lambda name: None)
    assert "uvloop" not in windlass().settings


def test_workers_in_either_language_tell_how_far_they_are_equally_often() -> None:
    """The end of a drain is seen late by a beat: seldom ones would flatter the slower of two."""
    (found,) = re.findall(r"const BEAT_MS = (\d+);", (ROOT / "bench" / "peers" / "protocol.mjs").read_text())
    assert float(found) == BEAT_SECONDS * 1000
    assert BEAT_SECONDS <= 0.01


def test_every_feature_has_a_handler_and_a_title() -> None:
    assert set(VARIANTS) == set(TITLES)
    for variant in VARIANTS:
        make_app(variant, lambda number: None, "bench.send", "bench")
