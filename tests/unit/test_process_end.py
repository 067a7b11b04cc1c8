"""A process that ends over what nobody can stop, in the middle of a log."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import logging, threading
from windlass.worker import process_end

process_end._PATIENCE = 600.0
held = threading.Event()


class Log(logging.StreamHandler):
    def acquire(self) -> None:
        if threading.current_thread().name == "windlass end":
            print("ending", flush=True)
        super().acquire()


log = Log()


def hold() -> None:
    with log.lock:
        held.set()
        threading.Event().wait()


threading.Thread(target=hold, daemon=True).start()
held.wait()
process_end.end_now(hurried=False)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_further_signal_ends_a_process_that_waits_for_its_log(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ending\n"
            process.send_signal(number)
            assert process.wait(60) == 0
            assert process.stdout.read() == ""
        finally:
            process.kill()
