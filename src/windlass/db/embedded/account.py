"""The operating system account that the server runs as.

PostgreSQL refuses to run as root.  Root therefore lends the server an account that already exists; none is
ever created, and no directory that is not ours is opened up for it.
"""

import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from windlass.db.embedded.locks import FileLock
from windlass.errors import Unavailable

LENT_ACCOUNTS = ("postgres", "nobody")
END_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    uid: int
    gid: int

    @property
    def is_lent(self) -> bool:
        """True when we are root and the server is somebody else."""
        return self.uid != os.geteuid()

    def run(
        self, command: Sequence[str | os.PathLike[str]], keep_open: FileLock | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one command to its end as this account, in a bare environment.

        The command shares the lock that it is to `keep_open`, and so holds it even if we are killed.  If we
        are interrupted it is asked to end, and waited for: a killed initdb would leave its server's memory
        behind.  So would one whose server a terminal interrupts: therefore the session of its own.
        """
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            cwd="/",
            env=bare_environment(),
            pass_fds=() if keep_open is None else (keep_open.fileno(),),
            umask=0o077,
            start_new_session=True,
            user=self.uid if self.is_lent else None,
            group=self.gid if self.is_lent else None,
            extra_groups=[] if self.is_lent else None,
        ) as process:
            try:
                out, err = process.communicate()
            except BaseException:
                _end_in_order(process)
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def check_named(self) -> None:
        """Unavailable where the system has no name for it, which initdb asks for and the server does not."""
        import pwd

        try:
            pwd.getpwuid(self.uid)
        except KeyError:
            raise Unavailable(
                f"the user id {self.uid} has no entry in /etc/passwd, and PostgreSQL makes no data without a"
                " user's name: give it one, start Windlass as a user that has one, or set"
                " WINDLASS_DATABASE_URL",
                lasting=True,
            ) from None

    def can_enter(self, directory: Path) -> bool:
        """Ask the kernel rather than read mode bits: there may be access lists on the way."""
        if not self.is_lent:
            return os.access(directory, os.X_OK)
        return self.run(["/bin/sh", "-c", 'cd "$1"', "sh", directory]).returncode == 0

    def can_run(self, program: Path) -> bool:
        if not self.is_lent:
            return os.access(program, os.X_OK)
        try:
            return self.run([program, "-V"]).returncode == 0
        except PermissionError:
            return False


def server_account() -> Account:
    """Who the server runs as: ourselves, or for root the first lent account that exists."""
    import pwd  # absent on Windows, where start() has refused before

    uid = os.geteuid()
    if uid != 0:
        return Account(_name_of(uid), uid, os.getegid())
    for name in LENT_ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise Unavailable(
        "PostgreSQL does not run as root and there is no account 'postgres' or 'nobody' to run it as:"
        " start Windlass as another user, or set WINDLASS_DATABASE_URL"
    )


def account_of(directory: Path) -> Account:
    """The account that owns an existing directory of data."""
    import pwd

    owner = directory.stat()
    try:
        return Account(_name_of(owner.st_uid), owner.st_uid, pwd.getpwuid(owner.st_uid).pw_gid)
    except KeyError:
        return Account(_name_of(owner.st_uid), owner.st_uid, owner.st_gid)


def bare_environment() -> dict[str, str]:
    """What server programs get: no PG* variable of the caller may bend them."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
        if name in os.environ
    }
    return {"PATH": os.defpath, **kept, "LC_ALL": "C", "TZ": "UTC"}


def _end_in_order(process: subprocess.Popen[str]) -> None:
    """Ask a process to end, and wait for it, however often we are interrupted meanwhile; not for ever."""
    process.terminate()
    deadline = time.monotonic() + END_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(KeyboardInterrupt):
            time.sleep(0.01)
    process.kill()


def _name_of(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
