"""Whether a test notices one generated change."""

import re
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.mutants.change import Change
from tests.mutants.reach import callers, files_for
from tests.mutants.source import run_tests
from tests.mutants.stage import Refused, Stage

__all__ = ["PYTHON_TESTS", "VERDICTS", "Judge"]

VERDICTS = ("killed", "survived", "equivalent", "refused")
PYTHON_TESTS = {
    "model/retry.py": ("tests/unit/test_retry.py",),
    "worker/leases.py": ("tests/unit/test_worker_values.py", "tests/integration/test_worker_leases.py"),
    "worker/words.py": ("tests/unit/test_worker_values.py", "tests/integration/test_worker_run.py"),
}
_FAILED = re.compile(r"^(?:FAILED|ERROR|SUBFAILED\S*(?: \[.*?\])?(?: \(.*?\))?) (tests/\S+)", re.MULTILINE)
_TENANCY = "tests/sql/test_tenancy.py"
_SECONDS = 900.0  # for all files of one change


class Judge:
    """Use as `with`, in a copy of the source."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._source = root / "src" / "windlass"
        self._called_by = callers(self._source / "sql" / "code")
        self._stage: Stage | None = None

    def verdict(self, change: Change) -> tuple[str, str]:
        """One of VERDICTS, and the test that fails, or why there is none."""
        path = self._source / change.file
        whole = path.read_text()
        changed = change.apply(whole)
        code, output = (self._sql if path.suffix == ".sql" else self._python)(change, path, whole, changed)
        if code is None:
            return "refused", output
        failed = _FAILED.search(output)
        if code == 0:
            return "survived", "no test noticed"
        if failed is None and path.suffix == ".py":
            return "killed", "the package does not load"
        if failed is None and code != 124:
            raise SystemExit(f"mutants: no verdict on {change.name}: exit code {code}\n{output[-3000:]}")
        return "killed", failed[1] if failed else "it did not come to an end"

    def _sql(self, change: Change, path: Path, whole: str, changed: str) -> tuple[int | None, str]:
        stage = self._stage = self._stage or Stage(_SECONDS)
        try:
            stage.replace(changed)
        except Refused as refusal:
            return None, str(refusal).splitlines()[0]
        code, output = 0, ""
        asked = files_for(path.stem, self._called_by, self._root)
        if "bound" in change.line:  # a session of one tenant
            asked = [[_TENANCY], *asked]
        for files in asked:
            if code == 0:
                code, output = stage.run(files)
        stage.replace(whole)
        return code, output

    def _python(self, change: Change, path: Path, whole: str, changed: str) -> tuple[int | None, str]:
        path.write_text(changed)
        try:
            done = run_tests(self._root, PYTHON_TESTS[change.file])
        finally:
            path.write_text(whole)
        return done.returncode, done.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stage is not None:
            self._stage.close()
