"""`./run bench` given what it cannot do: a sentence, exit code 2, and nothing was started or written."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.command import main
from bench.files import save
from bench.report import render
from bench.report.table import print_results
from bench.results import Measurement, Results
from tests.unit.bench_results import ENVIRONMENT


def results_at(scale: float) -> Results:
    systems = [{"name": "windlass", "version": "1", "settings": "as it comes"}]
    idle = Measurement("idle", "windlass", 0, 1.0, {"per_worker": 1.0, "workers": 10.0})
    return Results("./run bench", ENVIRONMENT, {"reps": 1, "scale": scale}, systems, [], [idle])


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: Any, **__: Any) -> None:
        raise AssertionError("a server was started")

    monkeypatch.setattr("bench.server.EmbeddedServer.start", start)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What it says; its exit code is 2."""
    try:
        code: object = main([str(argument) for argument in arguments])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    assert code == 2, said
    assert said.out == ""
    assert "Traceback" not in said.err
    return said.err.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--only", ""], "argument --only: names nothing"),
        (["--only", "W9"], "there is no workload 'w9'"),
        (["--systems", "river"], "there is no system 'river'"),
        (
            ["--only", "tenants-1", "--systems", "floor"],
            "none of these systems can do any of these workloads",
        ),
        (["--quick", "--all"], "--quick has workloads of its own"),
        (["--quick", "--only", "W5"], "--quick has no threshold for what --only names"),
        (["--quick", "--systems", "windlass"], "--systems must name both"),
        (["--reps", "x"], "argument --reps: must be a whole number, 1 or more, not 'x'"),
        (["--reps", "0"], "must be a whole number, 1 or more, not '0'"),
        (["--scale", "much"], "must be a number above 0 and at most 100, not 'much'"),
        (["--scale", "nan"], "must be a number above 0"),
        (["--json", "/nowhere/at/all.json"], "there is no directory /nowhere/at"),
        (["--data-dir", "/nowhere/at/all"], "there is no directory /nowhere/at/all"),
        (["--render", "/nowhere/at/all.json"], "all.json cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    assert why in refused(capsys, *arguments)


@pytest.mark.parametrize("url", ["postgresql://nobody@127.0.0.1:1/x", "nonsense", "postgresql://h:port/x"])
def test_a_server_that_cannot_be_reached_is_refused(capsys: pytest.CaptureFixture[str], url: str) -> None:
    why = refused(capsys, "--only", "W1", "--systems", "floor", "--database-url", url)
    assert "the server of --database-url cannot be measured on: " in why


def test_a_page_is_not_rendered_from_a_small_run_unless_that_is_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, images, small = tmp_path / "page.md", tmp_path / "images", tmp_path / "small.json"
    monkeypatch.setattr(render.render, "__defaults__", (page, images))
    page.write_text("<!-- bench:failures -->\n<!-- /bench -->\n")
    images.mkdir()
    (images / "pickup.svg").write_text("of another run")
    save(results_at(0.1), small)
    assert "ran below scale 1" in refused(capsys, "--render", small)
    assert "None." not in page.read_text()
    assert main(["--render", str(small), "--small"]) == 0
    assert "None." in page.read_text()
    assert list(images.iterdir()) == []


@pytest.mark.parametrize("missing", ["environment", "measurements", "systems", "absent", "command"])
def test_a_page_is_not_rendered_from_a_part_of_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, missing: str
) -> None:
    path = tmp_path / "results.json"
    save(results_at(1.0), path)
    document = json.loads(path.read_text())
    assert "docs/performance.md" in document["about"]
    path.write_text(json.dumps({name: value for name, value in document.items() if name != missing}))
    assert "is not a whole file of results" in refused(capsys, "--render", path)


def test_titles_tell_by_how_much_sizes_were_changed(capsys: pytest.CaptureFixture[str]) -> None:
    print_results(results_at(0.1))
    assert "100 idle worker processes: transactions per second of each  (sizes and lengths times 0.1)" in (
        capsys.readouterr().out
    )
    print_results(results_at(1.0))
    assert "times" not in capsys.readouterr().out
