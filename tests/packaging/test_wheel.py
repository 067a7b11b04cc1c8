"""The built wheel is what users get: everything under src/windlass, and nothing else."""

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "windlass"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(directory)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = directory.glob("*.whl")
    return built


def source_files(suffix: str = "") -> set[str]:
    return {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob(f"*{suffix}")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_wheel_holds_exactly_the_package(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == source_files()


def test_wheel_holds_every_sql_file_byte_for_byte(wheel: Path) -> None:
    sql = source_files(".sql")
    assert sql, "there is SQL to ship"
    archive = zipfile.ZipFile(wheel)
    for name in sql:
        assert archive.read(name) == (PACKAGE.parent / name).read_bytes(), name


def test_sql_is_readable_from_the_unpacked_wheel(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    script = (
        "import importlib.resources, pathlib, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import windlass\n"
        "assert pathlib.Path(windlass.__file__).is_relative_to(sys.argv[1]), windlass.__file__\n"
        "root = pathlib.Path(str(importlib.resources.files(windlass)))\n"
        "print(*sorted(p.relative_to(root.parent).as_posix() for p in root.rglob('*.sql')), sep='\\n')\n"
    )
    command = [sys.executable, "-I", "-c", script, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == source_files(".sql")


def test_metadata_names_the_distribution_its_licence_and_its_entry_points(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    info = next(name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name)
    metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
    assert metadata["Name"] == "windlass-jobs"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert f"{info}/licenses/LICENSE" in archive.namelist()
    entry_points = archive.read(f"{info}/entry_points.txt").decode()
    assert "windlass = windlass.cli:main" in entry_points
    assert "windlass = windlass.testing.plugin" in entry_points
