"""Advisory file locks: the kernel drops them when their holder ends, however it ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FileLock:
    """An exclusive lock on a file that is created when missing and never removed by us."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None

    def take(self, *, wait: bool) -> bool:
        """Take the lock, waiting for its holder if asked to; False when somebody else has it."""
        import fcntl  # absent on Windows, where start() has refused before

        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        return True

    def fileno(self) -> int:
        if self._fd is None:
            raise ValueError(f"the lock on {self.path} is not held")
        return self._fd

    def is_current(self) -> bool:
        """False when the file that we hold is no longer the one at this path."""
        try:
            return self._fd is not None and os.path.samestat(os.fstat(self._fd), self.path.stat())
        except FileNotFoundError:
            return False

    def drop(self) -> None:
        import fcntl

        fd, self._fd = self._fd, None
        if fd is not None:
            # Unlocked by word and not by closing: a child forked meanwhile shares the open file.
            fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)


@contextmanager
def held(path: Path) -> Iterator[FileLock]:
    """Hold the lock at `path` for the length of a block, waiting for it first."""
    lock = FileLock(path)
    lock.take(wait=True)
    try:
        yield lock
    finally:
        lock.drop()


def is_held(path: Path) -> bool:
    """Whether some process holds the lock at `path` right now."""
    lock = FileLock(path)
    if not lock.take(wait=False):
        return True
    lock.drop()
    return False
