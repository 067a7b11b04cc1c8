"""The import contracts of pyproject.toml bite, and what they cannot see is held here."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "windlass"
MODULES = sorted(PACKAGE.rglob("*.py"))
OUTERMOST = {"__init__", "__main__", "cli", "demo", "testing"}


def lint_imports(directory: Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert program, "import-linter is installed beside the interpreter"
    command = [program, "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    environment = {**os.environ, "PYTHONPATH": str(directory)}
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


def write_package(directory: Path, modules: dict[str, str]) -> None:
    for name, text in {"__init__.py": "", "errors.py": "", **modules}.items():
        path = directory / "windlass" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_downhill_imports_are_kept(tmp_path: Path) -> None:
    modules = {
        "cli.py": "import rich, typer, windlass.node, windlass.demo",
        "demo.py": "import windlass.app",
        "node.py": "import windlass.cluster",
        "app.py": "import windlass.worker, windlass.client",
        "cluster.py": "import windlass.client",
        "worker.py": "import windlass.client",
        "client.py": "import windlass.db.pool, windlass.settings",
        "db/__init__.py": "import psycopg",
        "db/pool.py": "import psycopg_pool, windlass.telemetry",
        "telemetry.py": "import windlass.model",
        "settings.py": "import windlass.errors",
        "model.py": "import windlass.errors",
    }
    write_package(tmp_path, modules)
    done = lint_imports(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "text", "contract"),
    [
        ("errors.py", "import windlass.model", "Imports go one way"),
        ("errors.py", "def later():\n    import windlass.model", "Imports go one way"),
        ("unlisted.py", "", "Imports go one way"),
        ("cli.py", "import windlass.testing", "do not know each other"),
        ("client.py", "import psycopg", "database driver"),
        ("client.py", "from psycopg_pool import AsyncConnectionPool", "database driver"),
        ("model/__init__.py", "import rich", "terminal"),
    ],
)
def test_forbidden_imports_are_reported(tmp_path: Path, module: str, text: str, contract: str) -> None:
    write_package(tmp_path, {"model/__init__.py": "", "testing.py": "", module: text})
    done = lint_imports(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert any(contract in line and "BROKEN" in line for line in done.stdout.splitlines()), done.stdout


def own_imports(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.ImportFrom):
            yield inner.module or ""
        elif isinstance(inner, ast.Import):
            yield from (alias.name for alias in inner.names)


def test_no_type_checking_import_of_our_own_hides_a_cycle() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                hidden = [name for name in own_imports(node) if name.split(".")[0] == "windlass"]
                assert hidden == [], path


def test_only_the_outermost_layers_use_the_facade() -> None:
    """`windlass` itself imports everything below it; an inner module that used it would close a circle."""
    inner = [
        path for path in MODULES if path.relative_to(PACKAGE).parts[0].removesuffix(".py") not in OUTERMOST
    ]
    for path in inner:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "windlass":
                assert all(is_module(alias.name) for alias in node.names), path
            elif isinstance(node, ast.Import):
                assert "windlass" not in {alias.name for alias in node.names}, path


def is_module(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def test_no_module_is_a_drawer_for_everything() -> None:
    drawers = {"utils", "util", "helpers", "common", "misc"}
    assert [path for path in MODULES if path.stem in drawers] == []


def test_modules_stay_readable_in_one_sitting() -> None:
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: length for name, length in lengths.items() if length > 300} == {}
