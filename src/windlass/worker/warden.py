"""The parent of a child process: when that ends, or is to end, all that it started ends with it.

What a handler starts may leave its process group, its session and its parent.  On Linux a process can be made
the one to which such orphans fall (a subreaper), and whoever has no child left then has no descendant left.
It cannot be the child: one that crashes or is killed loses them.  Nor the worker: that may be anybody's
program, with children of its own.  So there is one process between them that does nothing else.

It kills nobody but its own children, whose numbers nobody else can get before it has taken note of their
end; what those leave behind are its children next.  It imports little: there is one for each child.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["can_guard", "dismiss", "stand_guard"]

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE_SECONDS = 5.0
"""For those that are killed and do not end, since the kernel waits for a device."""
_LOOK_AGAIN_MS = 10


def can_guard() -> bool:
    """Whether this system has what it takes."""
    return _prctl() is not None and Path("/proc/self/stat").exists()


def stand_guard(lifeline: int, fd: int) -> None:
    """Return in a new process; in this one, watch over it until it ends or the worker drops the lifeline.

    `fd` is for the child alone: whoever waits at its other end is to hear when the child has closed it.
    """
    prctl, warden = _prctl(), os.getpid()
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = os.fork()
    if child:
        os.close(fd)
        _Warden(lifeline, child).watch()
    os.close(lifeline)
    os.setsid()  # a handler that kills its own group must not kill the warden
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != warden:
        os._exit(1)


def dismiss(held: int) -> None:
    """Drop the other end of a lifeline, of which there may be copies: the warden hears of it all the same."""
    with suppress(OSError):  # the warden is gone
        os.write(held, b".")
    os.close(held)


class _Warden:
    def __init__(self, lifeline: int, child: int) -> None:
        self._lifeline = lifeline
        self._child = child
        self._status: int | None = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # its worker says when, and its child
        self._woken, waker = os.pipe()
        for end in (self._woken, waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        self._poll = select.poll()
        self._poll.register(lifeline, select.POLLIN | select.POLLHUP)
        self._poll.register(self._woken, select.POLLIN)

    def watch(self) -> NoReturn:
        hung_up = False
        while self._take_note() and self._status is None and not hung_up:
            hung_up = self._wait(None)
        self._poll.unregister(self._lifeline)
        until = time.monotonic() + _PATIENCE_SECONDS
        while self._take_note() and time.monotonic() < until:
            for pid in _children():
                with suppress(PermissionError):  # it has become somebody else's, as by sudo
                    os.kill(pid, signal.SIGKILL)
            self._wait(_LOOK_AGAIN_MS)
        self._end_alike()

    def _take_note(self) -> bool:
        """Of all that have ended; whether any is left, and so any descendant."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == self._child:
                    self._status = status
                elif not pid:
                    return True
        except ChildProcessError:
            return False

    def _wait(self, milliseconds: int | None) -> bool:
        """Until a child has ended; True if the worker has hung up."""
        ready = [fd for fd, _ in self._poll.poll(milliseconds)]
        if self._woken in ready:
            os.read(self._woken, 4096)
        return self._lifeline in ready

    def _end_alike(self) -> NoReturn:
        """As the child did: the worker asks this process how it was."""
        code = -signal.SIGKILL if self._status is None else os.waitstatus_to_exitcode(self._status)
        if code < 0:
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core file is enough
            if -code != signal.SIGKILL:
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        os._exit(code if code >= 0 else 1)


def _children() -> Iterator[int]:
    """Of this process."""
    warden = str(os.getpid()).encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_bytes()
            except OSError:  # it has ended
                continue
            if stat.rpartition(b")")[2].split()[1] == warden:  # its name may have brackets and blanks
                yield int(entry.name)


def _prctl() -> Any:
    if sys.platform != "linux":
        return None
    try:
        import ctypes

        return ctypes.CDLL(None, use_errno=True).prctl
    except (ImportError, OSError, AttributeError):
        return None
