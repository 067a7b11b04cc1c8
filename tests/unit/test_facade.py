"""What `import windlass` offers: sorted, real, the same for type checkers, and loaded only when used."""

import ast
import importlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import windlass
from windlass.errors import ERROR_CLASSES

STUBBED = ("windlass", "windlass.testing")


@pytest.mark.parametrize("package", STUBBED)
def test_every_name_is_there(package: str) -> None:
    module = importlib.import_module(package)
    assert list(module.__all__) == sorted(module.__all__)
    assert all(getattr(module, name).__name__ == name for name in module.__all__)


@pytest.mark.parametrize("package", STUBBED)
def test_the_stub_says_the_same(package: str) -> None:
    module = importlib.import_module(package)
    stub = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text())
    homes = {
        name.name: statement.module
        for statement in stub.body
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
    }
    assert sorted(homes) == sorted(module.__all__)
    for name, home in homes.items():
        assert getattr(importlib.import_module(str(home)), name) is getattr(module, name)


def test_every_error_that_a_function_of_the_database_raises_can_be_caught_by_its_name() -> None:
    assert {error.__name__ for error in ERROR_CLASSES if error.sqlstate} <= set(windlass.__all__)


def test_the_version_is_that_of_the_package() -> None:
    assert windlass.__version__ == metadata.version("windlass-jobs")
    assert "__version__" not in windlass.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = windlass.Nothing  # type: ignore[attr-defined]


def test_nothing_is_loaded_before_it_is_used() -> None:
    code = "import sys, windlass, windlass.testing.plugin; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"psycopg", "pydantic"} & set(done.stdout.split())
