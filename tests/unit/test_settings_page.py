"""The page on settings has every one of them, with the default that it really has."""

import re
from pathlib import Path
from typing import Any

import pytest

from windlass.settings import PREFIX, Settings

PAGE = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
ROWS = dict(re.findall(r"^\| `(WINDLASS_\w+)` \| ([^|]+) \|", PAGE, re.MULTILINE))


def spelled(default: Any) -> str:
    if default is None:
        return "not set"
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, float):
        return f"{default:g}"
    return ",".join(default) if isinstance(default, tuple) else str(default)


def test_every_setting_is_on_the_page_and_no_other() -> None:
    assert set(ROWS) == {PREFIX + name.upper() for name in Settings.model_fields}


@pytest.mark.parametrize("name", Settings.model_fields)
def test_the_page_tells_the_default(name: str) -> None:
    field = Settings.model_fields[name]
    told = ROWS[PREFIX + name.upper()]
    assert told == ("the host's name" if name == "node_name" else spelled(field.default))


def test_the_page_gives_the_bounds_that_hold() -> None:
    for variable, bounds in {"CONCURRENCY": ("1", "10000"), "LEASE_SECONDS": ("0.1", "86400")}.items():
        for value in bounds:
            Settings.from_env({PREFIX + variable: value})
