"""Log lines: the ten fields, the running job's context, and text that cannot break a line."""

import asyncio
import contextvars
import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.errors import InvalidInput
from windlass.model import ClaimedJob, describe_exception
from windlass.telemetry import (
    HumanFormatter,
    JobFields,
    JsonFormatter,
    Signal,
    Telemetry,
    configure_logging,
    current_job,
    job_fields,
    log_signals,
    logs,
    mark_node,
    mark_running,
    running_job,
)
from windlass.telemetry.logs import MAX_LINE_LENGTH, CommandHandler
from windlass.worker.context import JobContext

TEN = (
    "timestamp",
    "level",
    "worker_id",
    "trace_id",
    "job_id",
    "kind",
    "tenant_id",
    "attempt",
    "message",
    "duration_ms",
)
JOB_ID = UUID("0190a000-0000-7000-8000-00000000abcd")
TENANT_ID = UUID("0190a000-0000-7000-8000-000000000002")
any_text = st.text(st.characters(codec=None) | st.sampled_from("\x00\ud800\n\r\x1b\u2028"))


def claimed(number: int = 2, trace_id: str | None = "t-1") -> ClaimedJob:
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    return ClaimedJob(
        JOB_ID,
        TENANT_ID,
        "default",
        "mail.send",
        0,
        {},
        JOB_ID,
        number,
        1,
        5,
        moment,
        trace_id,
        None,
        moment,
        None,
    )


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture(autouse=True)
def _root_as_before() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def record(message: str = "hello", **extra: Any) -> logging.LogRecord:
    return logging.makeLogRecord(
        {"name": "app", "levelno": logging.INFO, "levelname": "INFO", "msg": message, **extra}
    )


def test_a_line_has_the_ten_fields_in_order(stream: io.StringIO) -> None:
    configure_logging("json", "info", stream, worker_id="node-1")
    logging.getLogger("windlass").info("started", extra={"duration_ms": 12.5})
    (line,) = lines(stream)
    assert tuple(line)[:10] == TEN
    assert (line["level"], line["worker_id"], line["message"], line["duration_ms"]) == (
        "info",
        "node-1",
        "started",
        12.5,
    )
    assert line["job_id"] is None
    assert datetime.fromisoformat(line["timestamp"]).tzinfo is not None
    assert line["timestamp"].endswith("Z")


def test_a_handlers_own_lines_carry_its_job(stream: io.StringIO) -> None:
    configure_logging("json", "info", stream, worker_id="node-1")
    with running_job("node-1", claimed()) as job:
        assert current_job() is job
        logging.getLogger("some.library").warning("half way")
    assert current_job() is None
    logging.getLogger("some.library").warning("idle")
    inside, outside = lines(stream)
    assert {name: inside[name] for name in TEN[2:8]} == {
        "worker_id": "node-1",
        "trace_id": "t-1",
        "job_id": str(JOB_ID),
        "kind": "mail.send",
        "tenant_id": str(TENANT_ID),
        "attempt": 2,
    }
    assert outside["job_id"] is None
    assert outside["worker_id"] == "node-1"


async def test_jobs_on_one_loop_and_in_threads_do_not_mix() -> None:
    ready = asyncio.Barrier(20)

    async def handle(number: int) -> tuple[int, int, int]:
        with running_job("n", claimed(number)):
            await ready.wait()
            here = job_fields()["attempt"]
            there = (await asyncio.to_thread(job_fields))["attempt"]
            copied = contextvars.copy_context()
        return number, here, (there + copied.run(job_fields)["attempt"]) // 2

    for number, here, there in await asyncio.gather(*(handle(number) for number in range(20))):
        assert number == here == there
    assert job_fields() == {}


def test_running_job_nests_and_ends_with_an_exception() -> None:
    with running_job("n", claimed(1)):
        with pytest.raises(KeyError), running_job("n", claimed(2)):
            assert job_fields()["attempt"] == 2
            raise KeyError
        assert job_fields()["attempt"] == 1


def test_what_the_caller_says_about_a_job_stays() -> None:
    made = record(job_id="other")
    with running_job("n", claimed()):
        assert JobFields().filter(made)
    assert vars(made)["job_id"] == "other"
    assert vars(made)["kind"] == "mail.send"


def test_what_a_handler_adds_to_a_line_stands_beside_its_job(stream: io.StringIO) -> None:
    configure_logging("json", "info", stream)
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    JobContext(claimed(), "node-1").log.info("sent", extra={"order": 7, "run_at": moment, "kind": "other"})
    (line,) = lines(stream)
    assert (line["order"], line["kind"], line["job_id"]) == (7, "other", str(JOB_ID))
    assert line["run_at"] == "2030-01-01T00:00:00Z"


def test_the_node_of_a_job_is_told_by_its_id_too(stream: io.StringIO) -> None:
    configure_logging("json", "info", stream)
    scope = contextvars.copy_context()
    scope.run(mark_node, TENANT_ID)
    scope.run(mark_running, "node-1", claimed())
    scope.run(logging.getLogger("some.library").info, "half way")
    (line,) = lines(stream)
    assert line["node_id"] == str(TENANT_ID)
    assert str(TENANT_ID) not in HumanFormatter().format(record(node_id=str(TENANT_ID)))


def test_extra_fields_follow_and_secrets_do_not() -> None:
    made = record(
        outcome="failed", payload={"card": "4111"}, token="t", when=datetime(2030, 1, 1, tzinfo=UTC)
    )
    line = json.loads(JsonFormatter().format(made))
    assert line["outcome"] == "failed"
    assert line["payload"] == line["token"] == "[redacted]"
    assert line["when"].startswith("2030-01-01")
    assert "4111" not in HumanFormatter().format(made)


def test_an_exception_is_told_in_the_line(stream: io.StringIO) -> None:
    configure_logging("json", "info", stream)
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("app").exception("failed")
    (line,) = lines(stream)
    assert (line["level"], line["error"]["type"], line["error"]["message"]) == (
        "error",
        "ValueError",
        "two\nlines",
    )
    assert "Traceback" in line["error"]["traceback"]


def test_an_exception_that_was_described_is_not_described_again(
    stream: io.StringIO,
) -> None:
    configure_logging("json", "info", stream)
    telemetry = Telemetry([log_signals(logging.getLogger("windlass"))])
    error = {"type": "ValueError", "message": "x", "traceback": "as it was when the job failed"}
    telemetry.emit("job.failed", exception=ValueError("x"), error=error)
    telemetry.emit("job.failed", exception=ValueError("x"), error={**error, "traceback": "y" * 100_000})
    telemetry.emit("job.failed", exception=ValueError("x"), error="what somebody else calls an error")
    kept, cut, made = (line["error"] for line in lines(stream))
    assert kept == error
    assert (len(json.dumps(cut)) <= 16 * 1024 + 16, cut["traceback"][:2]) == (True, "…y")
    assert made == {"type": "ValueError", "message": "x", "traceback": "ValueError: x\n"}


@pytest.mark.parametrize("value", [404, None, ["t"]], ids=str)
@pytest.mark.parametrize("name", ["type", "message", "traceback"])
def test_what_only_looks_like_a_description_costs_no_line(stream: io.StringIO, name: str, value: Any) -> None:
    configure_logging("json", "info", stream)
    theirs = {"type": "E", "message": "m", "traceback": "t", name: value}
    logging.getLogger("app").error("refused", exc_info=ValueError("x"), extra={"error": theirs})
    (line,) = lines(stream)
    assert line["error"] == {"type": "ValueError", "message": "x", "traceback": "ValueError: x\n"}


@pytest.mark.parametrize("limit", [256, 1000, 8000])
def test_what_was_kept_of_an_exception_does_not_cut_its_line(stream: io.StringIO, limit: int) -> None:
    configure_logging("json", "info", stream)
    found = ValueError("x" * 3000)
    found.add_note("y" * 9000)
    extra = {"error": describe_exception(found, limit)}
    logging.getLogger("app").error("refused", exc_info=found, extra=extra)
    (line,) = lines(stream)
    assert line["error"] == describe_exception(found, 16 * 1024)


def test_what_fills_its_line_is_not_described_again(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure_logging("json", "info", stream)
    found = ValueError("é\x01" * 10_000)
    extra = {"error": describe_exception(found, 16 * 1024)}
    monkeypatch.setattr(logs, "describe_exception", None)
    logging.getLogger("app").error("refused", exc_info=found, extra=extra)
    (line,) = lines(stream)
    assert line["error"] == extra["error"]


@pytest.mark.parametrize(
    "theirs", ["E42", {"type": "E", "message": 42, "traceback": "t"}, {"code": 42}], ids=str
)
def test_a_person_reads_what_else_is_called_an_error(theirs: Any) -> None:
    made = record("payment refused", error=theirs)
    made.exc_info = (ValueError, ValueError("x"), None)
    text = HumanFormatter().format(made)
    assert f"payment refused error={theirs}\n" in text
    assert text.endswith("ValueError: x")


def test_a_person_reads_of_an_exception_that_is_not_there() -> None:
    made = record("job failed", error={"type": "ValueError", "message": "x", "traceback": "…"})
    made.exc_info = (None, None, None)
    assert "error=" in HumanFormatter().format(made)


def test_a_person_reads_an_exception_once() -> None:
    made = record("job failed", error={"type": "ValueError", "message": "x", "traceback": "…"})
    assert "error=" in HumanFormatter().format(made), "that of a child, of which there is no more"
    made.exc_info = (ValueError, ValueError("x"), None)
    text = HumanFormatter().format(made)
    assert "error=" not in text
    assert text.count("ValueError: x") == 1


@given(any_text, any_text)
def test_no_text_breaks_a_json_line(message: str, value: str) -> None:
    text = JsonFormatter().format(record(message, kind=value, more={"x": [value]}))
    assert text.isascii()
    assert text.isprintable()
    line = json.loads(text)
    assert line["message"] == message
    assert line["kind"] == value


@given(any_text, any_text)
def test_no_text_forges_a_human_line(message: str, value: str) -> None:
    text = HumanFormatter().format(record(message, more=value))
    _, *others = text.split("\n")
    assert all(other.startswith("    ") for other in others)
    assert len(text.splitlines()) == len(others) + 1
    text.encode()
    assert "\x1b" not in text
    assert "\r" not in text


def test_a_human_line_has_what_is_known_and_times_as_everywhere_else() -> None:
    due = datetime(2030, 1, 1, 9, 30, 0, 250_000, tzinfo=UTC)
    text = HumanFormatter().format(record(cost_cents=None, run_at=due, queue="mail", tries=0))
    assert text.endswith(" hello run_at=2030-01-01T09:30:00.250000Z queue=mail tries=0")


class Mute:
    def __str__(self) -> str:
        raise KeyError("never")


@pytest.mark.parametrize(
    "value",
    [float("nan"), {1: float("inf")}, {(1, 2): 3}, Mute(), b"x", {1, 2}],
    ids=lambda value: type(value).__name__,
)
def test_no_value_breaks_a_json_line(value: Any) -> None:
    text = JsonFormatter().format(record(odd=value, outcome="failed"))
    line = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert line["message"] == "hello"
    assert line["outcome"] == "failed"
    assert "odd" in line


def test_a_circle_and_a_wrong_format_string_are_still_told() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert json.loads(JsonFormatter().format(record(odd=circle)))["odd"] == "(list)"
    wrong = record("%d of %d", args=("x",))
    assert "%d of %d" in json.loads(JsonFormatter().format(wrong))["message"]


@pytest.mark.parametrize("character", ["x", "\U0001f600", "\x00"])
def test_a_huge_line_is_cut_and_keeps_the_ten_fields(character: str) -> None:
    huge = character * 300_000
    made = record(huge, kind=huge, job_id=str(JOB_ID), more=huge)
    made.exc_info = (ValueError, ValueError(huge), None)
    text = JsonFormatter("n").format(made)
    assert len(text) <= MAX_LINE_LENGTH
    line = json.loads(text)
    assert tuple(line)[:10] == TEN
    assert line["job_id"] == str(JOB_ID)
    assert line["error"]["type"] == "ValueError"
    assert line["cut_from"] > MAX_LINE_LENGTH


def test_a_human_line_is_one_readable_line() -> None:
    made = record(
        "job succeeded", job_id=str(JOB_ID), kind="mail.send", attempt=2, duration_ms=7, outcome="x"
    )
    text = HumanFormatter().format(made)
    assert text.endswith("info     [mail.send 0000abcd#2] job succeeded (7 ms) outcome=x")
    made.levelname = "WARNING"
    assert "\x1b[33mwarning" in HumanFormatter(color=True).format(made)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_auto_is_human_on_a_terminal_and_json_elsewhere(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    configure_logging("auto", "info", terminal)
    logging.getLogger("app").warning("to people")
    configure_logging("auto", "info", stream)
    logging.getLogger("app").warning("to machines")
    assert "\x1b[33mwarning" in terminal.getvalue()
    assert [line["message"] for line in lines(stream)] == ["to machines"]
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    configure_logging("auto", "info", plain)
    logging.getLogger("app").warning("plain")
    assert "\x1b" not in plain.getvalue()


def test_configure_again_replaces_only_its_own(stream: io.StringIO) -> None:
    foreign = logging.NullHandler()
    root = logging.getLogger()
    root.addHandler(foreign)
    configure_logging("json", "info", io.StringIO())
    configure_logging("json", "error", stream)
    assert foreign in root.handlers
    assert len([handler for handler in root.handlers if isinstance(handler, CommandHandler)]) == 1
    logging.getLogger("app").warning("too low")
    assert lines(stream) == []


def test_wrong_configuration_is_refused() -> None:
    with pytest.raises(InvalidInput, match="log level"):
        configure_logging("json", "loud", io.StringIO())
    with pytest.raises(InvalidInput, match="log format"):
        configure_logging("xml", "info", io.StringIO())  # type: ignore[arg-type]


def test_import_configures_nothing() -> None:
    code = (
        "import logging, sys\n"
        "import windlass.telemetry, windlass.settings, windlass.model\n"
        "root, ours = logging.getLogger(), logging.getLogger('windlass')\n"
        "sys.exit(len(root.handlers) + len(ours.handlers) + (root.level != logging.WARNING) + ours.level)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, check=False)
    assert done.returncode == 0


def test_emit_reaches_every_subscriber_until_it_leaves() -> None:
    seen: list[Signal] = []
    telemetry = Telemetry([seen.append])
    leave = telemetry.subscribe(seen.append)
    telemetry.emit("job.started", name="a field of that name", job_id=1)
    leave()
    leave()
    telemetry.emit("job.ended", level=logging.WARNING)
    assert [signal.name for signal in seen] == ["job.started", "job.started", "job.ended"]
    assert seen[0].fields == {"name": "a field of that name", "job_id": 1}
    assert [signal.level for signal in seen] == [logging.INFO, logging.INFO, logging.WARNING]


def test_a_failing_subscriber_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Signal] = []

    def broken(_: Signal) -> None:
        raise RuntimeError("broken")

    Telemetry([broken, seen.append]).emit("job.started")
    assert len(seen) == 1
    assert "a telemetry subscriber failed on job.started" in caplog.text


def test_signals_become_log_lines(stream: io.StringIO) -> None:
    configure_logging("json", "info", stream)
    telemetry = Telemetry([log_signals(logging.getLogger("windlass"))])
    telemetry.emit("job.timed_out", level=logging.WARNING, job_id=JOB_ID, duration_ms=3, name="n", module="m")
    telemetry.emit("job.claimed", level=logging.DEBUG)
    telemetry.emit("job.failed", message="100% gone", exception=ValueError("x"))
    timed_out, failed = lines(stream)
    assert (timed_out["message"], timed_out["level"]) == ("job timed out", "warning")
    assert (timed_out["job_id"], timed_out["duration_ms"]) == (str(JOB_ID), 3)
    assert (timed_out["name_"], timed_out["module_"], timed_out["signal"]) == ("n", "m", "job.timed_out")
    assert (failed["message"], failed["error"]["type"]) == ("100% gone", "ValueError")
