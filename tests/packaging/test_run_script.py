"""./run prepares .venv once, only when needed, and survives being cut short.

The project here is a real one, installed by the real installer into a real .venv; its build backend lives
in the tree and it depends on nothing, so that no package index is needed.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "windlass-jobs"
version = "0"
"""

BACKEND = """\
import pathlib, signal, zipfile

ROOT = pathlib.Path(__file__).parent
INFO = "windlass_jobs-0.dist-info"
METADATA = "Metadata-Version: 2.1\\nName: windlass-jobs\\nVersion: 0\\n" + "".join(
    f"Provides-Extra: {extra}\\n" for extra in ("cli", "embedded", "dev")
)


def build_editable(directory, config_settings=None, metadata_directory=None):
    with (ROOT / "built").open("a") as built:
        built.write("x")
    if (ROOT / "hang").exists():
        (ROOT / "hanging").touch()
        signal.pause()
    files = {
        "windlass_jobs.pth": f"{ROOT / 'src'}\\n",
        f"{INFO}/METADATA": METADATA,
        f"{INFO}/WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    record = "".join(f"{name},,\\n" for name in (*files, f"{INFO}/RECORD"))
    with zipfile.ZipFile(pathlib.Path(directory, "windlass_jobs-0-py3-none-any.whl"), "w") as wheel:
        for name, text in {**files, f"{INFO}/RECORD": record}.items():
            wheel.writestr(name, text)
    return "windlass_jobs-0-py3-none-any.whl"
"""

DEMO = "import sys, windlass; print(windlass.__file__, *sys.argv[1:], sep='|')"


class Checkout:
    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "src" / "windlass").mkdir(parents=True)
        (root / "src" / "windlass" / "__init__.py").touch()
        (root / "src" / "windlass" / "demo.py").write_text(DEMO)
        (root / "pyproject.toml").write_text(PYPROJECT)
        (root / "constraints.txt").touch()
        (root / "backend.py").write_text(BACKEND)
        shutil.copy(ROOT / "run", root / "run")

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PIP_", "UV_", "PYTHON"))
        }
        offline = {"PIP_NO_INDEX": "1", "UV_OFFLINE": "1", "PYTHON": sys.executable}
        return subprocess.Popen(
            [self.root / "run", *arguments],
            cwd="/",
            env={**kept, **offline, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def demo(self, *arguments: str, **environment: str) -> str:
        started = self.start("demo", *arguments, **environment)
        out, err = started.communicate()
        log = self.root / ".venv-install.log"
        assert started.returncode == 0, err + (log.read_text() if log.exists() else "")
        return out.strip()

    @property
    def installs(self) -> int:
        built = self.root / "built"
        return len(built.read_text()) if built.exists() else 0

    @property
    def here(self) -> str:
        return str(self.root / "src" / "windlass" / "__init__.py")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path.resolve() / "a päth with späces")


def test_installs_once_and_again_only_when_the_constraints_change(checkout: Checkout, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    noise = {"PIP_TARGET": elsewhere, "PIP_PREFIX": elsewhere, "PIP_USER": "1", "PIP_CONSTRAINT": elsewhere}
    read_only = tmp_path / "home"
    read_only.mkdir(mode=0o555)
    assert checkout.demo("one", "two words", HOME=str(read_only), **noise) == f"{checkout.here}|one|two words"
    assert not Path(elsewhere).exists()
    assert checkout.installs == 1

    assert checkout.demo(PYTHONPATH="/nonexistent", PYTHONHOME="/nonexistent", LC_ALL="C") == checkout.here
    assert checkout.installs == 1

    kept = checkout.root / ".venv" / "kept"
    kept.touch()
    (checkout.root / "constraints.txt").write_text("some-package==1\n")
    checkout.demo()
    assert checkout.installs == 2
    assert kept.exists(), "the same interpreter's .venv is brought up to date, not made anew"


def test_an_install_killed_half_way_is_started_over(checkout: Checkout) -> None:
    (checkout.root / "hang").touch()
    aside = checkout.root.parent / "aside"  # for what an installer that is killed leaves
    aside.mkdir()
    started = checkout.start("demo", TMPDIR=str(aside))
    deadline = time.monotonic() + 60
    while not (checkout.root / "hanging").exists():
        assert started.poll() is None, started.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    left = checkout.root / ".venv" / "left"
    left.touch()
    os.killpg(started.pid, signal.SIGKILL)
    started.communicate()
    (checkout.root / "hang").unlink()

    assert checkout.demo() == checkout.here
    assert not left.exists(), "a .venv without its stamp is not trusted"


def test_two_at_once_prepare_one_venv(checkout: Checkout) -> None:
    both = [checkout.start("demo"), checkout.start("demo")]
    results = [(*started.communicate(), started.returncode) for started in both]
    assert [code for _, _, code in results] == [0, 0], results
    assert checkout.installs == 1


def test_a_venv_that_no_longer_fits_is_replaced(checkout: Checkout) -> None:
    checkout.demo()
    interpreter = checkout.root / ".venv" / "bin" / "python"
    interpreter.unlink()
    interpreter.symlink_to("/nonexistent/python")
    assert checkout.demo() == checkout.here
    assert checkout.installs == 2

    checkout.root = checkout.root.rename(checkout.root.with_name("moved"))
    assert checkout.demo() == checkout.here, "a moved checkout runs its own code, not the old place's"


def test_a_failed_install_says_so_and_leaves_no_stamp(checkout: Checkout) -> None:
    (checkout.root / "backend.py").write_text("raise RuntimeError('no wheel today')")
    started = checkout.start("demo")
    _, err = started.communicate()
    assert started.returncode == 1
    assert "no wheel today" in err
    assert "could not install" in err
    assert not (checkout.root / ".venv" / ".windlass-stamp").exists()


@pytest.mark.parametrize(
    ("arguments", "code"), [(["help"], 0), (["--help"], 0), (["frobnicate"], 2), ([], 2)], ids=str
)
def test_help_is_shown_on_request_and_on_misuse(checkout: Checkout, arguments: list[str], code: int) -> None:
    started = checkout.start(*arguments)
    out, err = started.communicate()
    assert started.returncode == code
    assert "usage: ./run" in (err if code else out)
    assert not (checkout.root / ".venv").exists()


def test_an_unusable_python_is_named(checkout: Checkout) -> None:
    started = checkout.start("demo", PYTHON="/nonexistent/python")
    _, err = started.communicate()
    assert started.returncode == 1
    assert "PYTHON=/nonexistent/python" in err


def test_what_an_interpreter_says_that_cannot_start_is_shown(checkout: Checkout, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho first >&2\necho 'error while loading libpython3.so' >&2\nexit 127\n")
    broken.chmod(0o755)
    started = checkout.start("demo", PYTHON=str(broken))
    _, err = started.communicate()
    assert started.returncode == 1
    assert err.splitlines() == [
        f"run: PYTHON={broken} is not a working Python 3.11 or newer: error while loading libpython3.so"
    ]


def test_script_is_posix_shell() -> None:
    text = (ROOT / "run").read_text()
    assert text.startswith("#!/bin/sh\n")
    assert os.access(ROOT / "run", os.X_OK)
    for shell in filter(shutil.which, ("sh", "dash", "ksh", "bash")):
        options = ["--posix"] if shell == "bash" else []
        done = subprocess.run(
            [shell, *options, "-n", ROOT / "run"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    bashisms = (
        r"\[\[|\bfunction\b|\blocal\b|\bsource\b|<<<|\becho -|\$'|&>|\bdeclare\b|\$\{\w+(//|\^|,)|=\(|\+="
    )
    assert re.findall(bashisms, code) == []
