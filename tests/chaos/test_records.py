"""Lines of many writers stay whole, also when a writer is killed, and every call has its answer noted."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from tests.chaos.records import Recorder, append, append_synced, read
from windlass.errors import NotFound, Unavailable


def test_lines_come_back_with_both_clocks(tmp_path: Path) -> None:
    append(tmp_path / "file", what="start", job=7)
    append_synced(tmp_path / "file", what="end")
    first, second = read(tmp_path / "file")
    assert (first["what"], first["job"], second["what"]) == ("start", 7, "end")
    assert first["mono"] <= second["mono"]
    assert abs(time.time() - first["wall"]) < 3600


def test_a_line_that_was_not_finished_is_left_out(tmp_path: Path) -> None:
    append(tmp_path / "file", n=1)
    with (tmp_path / "file").open("ab") as file:
        file.write(b'{"n":2')
    assert [line["n"] for line in read(tmp_path / "file")] == [1]
    assert list(read(tmp_path / "absent")) == []


def _write_for_ever(path: Path, name: int) -> None:
    while True:
        append_synced(path, name=name, filling="x" * 500)


def test_killed_writers_leave_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "file"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_for_ever, args=(path, name)) for name in (1, 2)]
    for writer in writers:
        writer.start()
    deadline = time.monotonic() + 60
    while {line["name"] for line in read(path)} != {1, 2} and time.monotonic() < deadline:
        time.sleep(0.01)
    for writer in writers:
        os.kill(writer.pid or 0, signal.SIGKILL)
        writer.join()
    assert {line["name"] for line in read(path)} == {1, 2}
    assert all(len(line["filling"]) == 500 for line in read(path))


def test_every_call_is_invoked_and_answered(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "calls")
    with recorder.call("enqueue", [{"job": "a"}]):
        pass
    for error in (Unavailable("gone"), NotFound("none"), RuntimeError("else")):
        with pytest.raises(type(error)), recorder.call("cancel", [{"job": "a"}]):
            raise error
    lines = list(read(tmp_path / "calls"))
    assert [line["step"] for line in lines] == [
        *("invoke", "ok"),
        *("invoke", "unknown"),
        *("invoke", "fail"),
        *("invoke", "unknown"),
    ]
    assert all(lines[n]["call"] == lines[n + 1]["call"] for n in (0, 2, 4, 6))
    assert len({line["call"] for line in lines}) == 4
    assert lines[0]["jobs"] == [{"job": "a"}]
