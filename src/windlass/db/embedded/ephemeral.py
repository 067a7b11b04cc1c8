"""Temporary homes, on disk or in memory, and the removal of those whose makers died.

A home is dead when all of its locks are free and no postmaster works in it; age proves nothing.
"""

import logging
import os
import shutil
import stat
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

from windlass.db.embedded.account import Account
from windlass.db.embedded.home import MEMORY_ROOM, Home, memory_base, memory_room, temporary_bases
from windlass.db.embedded.locks import FileLock, held
from windlass.db.embedded.postmaster import living_postmaster
from windlass.errors import Unavailable

logger = logging.getLogger(__name__)


def prefix() -> str:
    return f"windlass-{os.geteuid()}-ephemeral-"


def make_home(account: Account, *, in_memory: bool = False) -> tuple[Home, FileLock]:
    """A new home with its start lock already held, so that no sweep can take it for a dead one."""
    base = choose_base(account, in_memory=in_memory)
    while True:
        root = Path(tempfile.mkdtemp(prefix=prefix(), dir=base))
        home = Home(root)
        lock = FileLock(home.start_lock)
        try:
            root.chmod(0o711 if account.is_lent else 0o700)
            taken = lock.take(wait=False)
        except FileNotFoundError:
            continue  # a sweep took the empty directory
        if taken and lock.is_current():
            return home, lock
        lock.drop()


def choose_base(account: Account, *, in_memory: bool) -> Path:
    """Where a temporary home goes; one that may be in memory, only while there is room for it."""
    memory = memory_base(account) if in_memory else None
    if memory is not None and memory_room() >= MEMORY_ROOM:
        return memory
    bases = temporary_bases(account)
    if not bases:
        raise Unavailable(
            f"the account {account.name!r} can enter no temporary directory (TMPDIR, /tmp, /var/tmp)"
        )
    if in_memory:
        why = "there is no /dev/shm to use" if memory is None else f"{memory} has too little room"
        logger.info("the temporary server's data goes to disk, in %s: %s", bases[0], why)
    return bases[0]


def sweep(account: Account) -> list[Path]:
    """Remove the temporary homes of ours that nothing lives in; returns what was removed."""
    removed = []
    memory = memory_base(account)
    for base in dict.fromkeys([*temporary_bases(account), *([memory] if memory else [])]):
        for root in base.glob(f"{prefix()}*"):
            try:
                if _remove_if_dead(Home(root)):
                    removed.append(root)
            except OSError:
                continue  # being made, being removed, or not ours to judge
    return removed


def _remove_if_dead(home: Home) -> bool:
    entry = home.root.lstat()
    if not stat.S_ISDIR(entry.st_mode) or entry.st_uid != os.geteuid():
        return False
    if not home.start_lock.exists():
        home.root.rmdir()  # fails unless empty; its maker, if alive, makes another
        return True
    with ExitStack() as stack:
        for path in (home.start_lock, home.server_lock, home.cluster_lock):
            lock = FileLock(path)
            if not lock.take(wait=False):
                return False
            stack.callback(lock.drop)
        if living_postmaster(home.pgdata) is not None:
            return False
        remove(home)
    return not home.root.exists()


def discard(home: Home) -> None:
    """Remove a home of our own whose server has ended, or wait for the sweep that is already at it."""
    with suppress(FileNotFoundError), held(home.start_lock):
        remove(home)


def remove(home: Home) -> None:
    """Remove a home and its socket directory; the mark of a home, its start lock, goes last."""
    shutil.rmtree(home.socket_dir(), ignore_errors=True)
    with suppress(FileNotFoundError):
        for path in home.root.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path != home.start_lock:
                path.unlink(missing_ok=True)
    shutil.rmtree(home.root, ignore_errors=True)
