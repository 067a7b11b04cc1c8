"""The server's parent process: starts it, restarts it after a crash, and never outlives its owner.

Run as a script of its own (`python -I -S guardian.py <spec as JSON>`), so it imports nothing but the standard
library.  It is a process and not a thread of the owner for two reasons.  When the owner is killed, somebody
must be left to stop the server and to clear up.  And the kernel's parent-death signal follows the *thread*
that started a child, so in the owner it would fire whenever a short-lived thread had called start(); here
there is one thread only, and the signal covers the one case left, the death of the guardian itself.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TICK_SECONDS = 0.5
LONGEST_PAUSE = 5.0
ORPHANS_SECONDS = 60.0
SETTLED_SECONDS = 10.0
QUIT_SECONDS = 10.0
PR_SET_PDEATHSIG = 1
STILL_ATTACHED = b"pre-existing shared memory block"


@dataclass(frozen=True)
class Spec:
    """What the owner asks for; `remove` is deleted once the server has been stopped."""

    owner_pid: int
    command: list[str]
    environment: dict[str, str]
    pgdata: str
    lock: str
    log: str
    log_limit: int
    remove: list[str]
    patience: float
    uid: int | None = None
    gid: int | None = None


class Guardian:
    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._stopping = False
        self._wake_reader, self._wake_writer = os.pipe()
        self._log = os.open(spec.log, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self._die_with_parent = _parent_death_signal()
        self._owner_fd = _process_fd(spec.owner_pid)

    def run(self) -> int:
        self._hear_signals()
        self._take_lock()
        code = self._keep_running()
        if not self._must_stop():
            return code
        for path in self._spec.remove:
            _remove(Path(path))
        return 0

    def _take_lock(self) -> None:
        """Held until this process ends; nobody else keeps it for longer than a look."""
        import fcntl  # absent on Windows, where the module must still load

        lock = os.open(self._spec.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        while not self._must_stop():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._sleep(0.02)
            else:
                return

    def _keep_running(self) -> int:
        """Start the server again after each crash, until it is stopped or cannot be started at all."""
        was_ever_ready, failures, first_start = False, 0, time.monotonic()
        while not self._must_stop():
            log_from, started = os.fstat(self._log).st_size, time.monotonic()
            server = self._start()
            ready = self._watch(server)
            if server.returncode is None:
                self._shut_down(server)
            if self._must_stop() or server.returncode == 0:
                return 0
            was_ever_ready = was_ever_ready or ready
            failures = 0 if ready and time.monotonic() > started + SETTLED_SECONDS else failures + 1
            patient = time.monotonic() < first_start + ORPHANS_SECONDS
            if not was_ever_ready and not (patient and self._orphans_linger(log_from)):
                return 1
            self._pause(min(0.02 * 2 ** min(failures, 10), LONGEST_PAUSE))
        return 0

    def _start(self) -> subprocess.Popen[bytes]:
        environment = dict(self._spec.environment)
        left_behind = self._noted()
        if left_behind:
            # No server runs here, so this pid is stale, whoever has it by now; the server itself cannot know.
            environment["PG_GRANDPARENT_PID"] = left_behind[0].strip()
        lent: dict[str, Any] = {}
        if self._spec.uid is not None:
            lent = {"user": self._spec.uid, "group": self._spec.gid, "extra_groups": []}
        return subprocess.Popen(
            self._spec.command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            cwd="/",
            env=environment,
            umask=0o077,
            start_new_session=True,
            preexec_fn=self._die_with_parent,  # noqa: PLW1509 - this process has no other thread
            **lent,
        )

    def _watch(self, server: subprocess.Popen[bytes]) -> bool:
        """Wait until the server ends or must end; True if it was ready to serve at some time."""
        ready = False
        while server.poll() is None and not self._must_stop():
            self._sleep(TICK_SECONDS)
            ready = ready or self._is_ready(server.pid)
            self._limit_log()
        return ready or self._is_ready(server.pid)

    def _is_ready(self, pid: int) -> bool:
        lines = self._noted()
        return len(lines) > 7 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"

    def _noted(self) -> list[str]:
        """The server's own note, which a crash leaves behind and an orderly end removes."""
        try:
            return Path(self._spec.pgdata, "postmaster.pid").read_text().splitlines()
        except (OSError, ValueError):
            return []

    def _orphans_linger(self, log_from: int) -> bool:
        """Backends of a killed postmaster may need a moment to notice; until then no other may start."""
        return STILL_ATTACHED in os.pread(self._log, 1 << 16, log_from)

    def _shut_down(self, server: subprocess.Popen[bytes]) -> None:
        """Fast, then immediate, then by force: the last two cost a crash recovery but no data."""
        steps = ((signal.SIGINT, self._spec.patience), (signal.SIGQUIT, QUIT_SECONDS))
        for number, seconds in steps:
            server.send_signal(number)
            deadline = time.monotonic() + seconds
            while server.poll() is None and time.monotonic() < deadline:
                self._sleep(min(TICK_SECONDS, max(0.0, deadline - time.monotonic())), heed_owner=False)
            if server.returncode is not None:
                return
        server.kill()
        server.wait()

    def _limit_log(self) -> None:
        if os.fstat(self._log).st_size > self._spec.log_limit:
            shutil.copyfile(self._spec.log, f"{self._spec.log}.1")
            os.ftruncate(self._log, 0)

    def _must_stop(self) -> bool:
        return self._stopping or os.getppid() != self._spec.owner_pid

    def _pause(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._must_stop() and (left := deadline - time.monotonic()) > 0:
            self._sleep(left)

    def _sleep(self, seconds: float, *, heed_owner: bool = True) -> None:
        """Wait, but wake at once for a signal, the server's end or the owner's."""
        watched = [self._wake_reader]
        if heed_owner and self._owner_fd is not None:
            watched.append(self._owner_fd)
        if self._wake_reader in select.select(watched, [], [], seconds)[0]:
            os.read(self._wake_reader, 4096)

    def _hear_signals(self) -> None:
        os.set_blocking(self._wake_writer, False)
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._heed_stop)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def _heed_stop(self, number: int, frame: object) -> None:
        self._stopping = True


def _parent_death_signal() -> Callable[[], None] | None:
    """Linux only: the server gets a fast shutdown from the kernel should this process be killed."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes

        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (ImportError, OSError, AttributeError):
        return None
    parent = os.getpid()

    def arm() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return arm


def _remove(directory: Path) -> None:
    """The mark of a temporary home goes last: a later sweep can then finish an interrupted removal."""
    try:
        for path in directory.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != "start.lock":
                path.unlink(missing_ok=True)
        shutil.rmtree(directory, ignore_errors=True)
    except OSError:
        pass  # the sweep of a later start is already at it


def _process_fd(pid: int) -> int | None:
    """Readable once the process has ended; elsewhere than on Linux the ticks must notice."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


if __name__ == "__main__":
    sys.exit(Guardian(Spec(**json.loads(sys.argv[1]))).run())
