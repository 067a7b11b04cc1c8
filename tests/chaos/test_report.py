"""What a run leaves behind can be read by people and by programs, and needs nothing beside it."""

import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.chaos.__main__ import make_plan, parser
from tests.chaos.checker import RULES
from tests.chaos.faults import FAULTS
from tests.chaos.faults.clocks import build_shim
from tests.chaos.live import Live
from tests.chaos.report import as_text, write
from tests.chaos.runner import Plan, Result, Status


def a_result(broken: str | None = None) -> Result:
    events = [
        {"what": "begun", "wall": 100.0},
        {"what": "worker", "name": "w1.1", "slot": "w1", "pid": 1, "wall": 99.0},
        {"what": "fault", "name": "kill", "wall": 103.0},
        {"what": "healed", "name": "kill", "wall": 104.0, "text": "SIGKILL to <w1>"},
        {"what": "ended", "name": "w1.1", "slot": "w1", "pid": 1, "wall": 103.0},
    ]
    findings = {rule: [f"job: {rule} <&>"] if rule == broken else [] for rule in RULES}
    return Result(
        plan=Plan(10, 5.0, 42, ("kill",)),
        version="18",
        findings=findings,
        counts={"jobs asked for": 10},
        absent={"disk": "needs root"},
        started={"kill": 1},
        began=100.0,
        phases={"faults": 5.0, "healed": 1.0},
        events=events,
        ends=[(1.0, "succeeded"), (4.0, "crashed"), (4.0, "crashed")],
    )


def test_the_text_has_the_verdict_the_seed_and_every_rule() -> None:
    text = as_text(a_result())
    assert text.startswith("KEPT: seed 42")
    assert all(rule in text for rule in RULES)
    assert "absent: disk (needs root)" in text
    assert as_text(a_result("lost")).startswith("BROKEN")


def test_three_files_and_a_picture(tmp_path: Path) -> None:
    files = write(a_result("lost"), tmp_path)
    assert [path.name for path in files] == ["report.txt", "report.json", "report.html"]
    told = json.loads((tmp_path / "report.json").read_text())
    assert (told["kept"], told["plan"]["seed"], told["findings"]["lost"]["count"]) == (False, 42, 1)
    page = (tmp_path / "report.html").read_text()
    assert "A promise was broken" in page
    assert "job: lost &lt;&amp;&gt;" in page
    assert not re.search(r"(src|href)=|@import|url\(", page)
    drawing = ET.fromstring(re.search(r"<svg.*</svg>", page, re.DOTALL)[0])  # type: ignore[index]
    tips = [node.text for node in drawing.iter() if node.tag.endswith("title")]
    assert any("SIGKILL to <w1>" in (tip or "") for tip in tips)
    assert "2" in tips  # the two recoveries


def test_arguments_make_a_plan() -> None:
    asked = parser().parse_args(["--jobs", "9", "--minutes", "0.5", "--seed", "3", "--faults", "kill,cut"])
    plan = make_plan(asked)
    assert (plan.jobs, plan.seconds, plan.seed, plan.faults) == (9, 30.0, 3, ("kill", "cut"))
    assert "failover" not in make_plan(parser().parse_args([])).faults
    assert set(make_plan(parser().parse_args(["--standby", "sync"])).faults) == set(FAULTS)
    with pytest.raises(SystemExit, match="no such fault: flood"):
        make_plan(parser().parse_args(["--faults", "flood"]))


def test_the_live_view_writes_lines_where_it_cannot_draw() -> None:
    stream = io.StringIO()
    live = Live(100, stream)
    live(Status("faults", 3.0, 50, 40, ["kill"], 3, 1))
    live(Status("faults", 3.1, 51, 41, [], 3, 1))
    live.close()
    assert stream.getvalue().count("\n") == 1
    assert "50 asked, 40 ended" in stream.getvalue()
    assert "kill" in stream.getvalue()


def test_every_fault_has_a_name_and_an_explanation() -> None:
    for name, fault in FAULTS.items():
        assert fault.name == name
        assert fault.start is not None
        assert fault.leases >= 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the C library is replaced in Linux's way")
def test_a_moved_clock_is_moved_for_the_process_alone(tmp_path: Path) -> None:
    fault = FAULTS["clock-ahead"]
    if (why := fault.absent(fault.__new__(fault))) is not None:
        pytest.skip(why)
    library = build_shim(tmp_path)
    text = "import time; print(time.time(), time.monotonic())"
    environment = {"LD_PRELOAD": str(library), "WINDLASS_TEST_CLOCK": "3600"}
    moved, own = (
        [float(part) for part in subprocess.check_output([sys.executable, "-c", text], env=env).split()]
        for env in (environment, {})
    )
    assert 3500 < moved[0] - own[0] < 3700
    assert abs(moved[1] - own[1]) < 60
    text = "import time; a, m = time.time(), time.monotonic(); time.sleep(0.2)\n"
    text += "print((time.time() - a) / (time.monotonic() - m))"
    fast = {"LD_PRELOAD": str(library), "WINDLASS_TEST_DRIFT": "0.5"}
    assert float(subprocess.check_output([sys.executable, "-c", text], env=fast)) == pytest.approx(
        1.5, abs=0.1
    )
