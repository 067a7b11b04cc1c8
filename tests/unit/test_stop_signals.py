"""Signals on their way to the loop: none is lost while the loop cannot read."""

import signal
import socket

from windlass.worker.stop_signals import StopSignals


def test_a_loop_whose_end_is_full_is_told_again() -> None:
    loop, teller = socket.socketpair()
    teller.setblocking(False)
    try:
        while True:
            teller.send(b"\0")
    except BlockingIOError:
        pass
    signals = StopSignals([signal.SIGTERM], lambda _: None, lambda: None, 0.1)
    signals._loop_end = teller.fileno()
    signals._unheard = bytes([signal.SIGTERM])
    signals._pass_on()
    assert signals._unheard, "it is kept"
    loop.setblocking(False)
    try:
        while loop.recv(65536):
            pass
    except BlockingIOError:
        pass
    signals._pass_on()
    assert (signals._unheard, loop.recv(9)) == (b"", bytes([signal.SIGTERM]))
    for end in (loop, teller):
        end.close()
