"""What the doctor says of a server that is too old or too new, and of clocks that differ."""

from datetime import datetime, timedelta, tzinfo
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import Database
from windlass.cli.doctor import probes
from windlass.db.connect import connect


@pytest.mark.parametrize(
    ("oldest", "newest", "level"), [(99, 100, "fail"), (1, 2, "warn"), (1, 99, "ok")], ids=str
)
def test_a_server_is_judged_by_its_version(
    db: Database, monkeypatch: pytest.MonkeyPatch, oldest: int, newest: int, level: str
) -> None:
    monkeypatch.setattr(probes, "OLDEST", oldest)
    monkeypatch.setattr(probes, "NEWEST", newest)
    with connect(db.url()) as connection:
        assert probes.check_server(connection).level == level


@pytest.mark.parametrize(
    ("ahead", "level", "said"),
    [
        (0.0, "ok", ""),
        (3600.0, "warn", "ahead of the database's"),
        (-3600.0, "warn", "behind the database's"),
    ],
)
def test_a_clock_that_is_off_is_told(
    db: Database, monkeypatch: pytest.MonkeyPatch, ahead: float, level: str, said: str
) -> None:
    def now(zone: tzinfo | None = None) -> datetime:
        return datetime.now(zone) + timedelta(seconds=ahead)

    clock: Any = SimpleNamespace(now=now)
    monkeypatch.setattr(probes, "datetime", clock)
    with connect(db.url()) as connection:
        finding = probes.check_clock(connection)
    assert finding.level == level
    assert said in finding.sentence
    assert float(finding.details["skew_seconds"]) == pytest.approx(-ahead, abs=1.0)
