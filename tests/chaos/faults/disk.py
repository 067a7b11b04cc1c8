"""The disk under the jobs is full."""

import os
import subprocess
from pathlib import Path

from tests.chaos.faults.base import Fault
from tests.chaos.site import Site

__all__ = ["DiskFull"]

ROOM = 4 << 30
_MOVE = """
select format('alter table %s set tablespace small', c.oid::regclass) from pg_class as c
where c.relnamespace = 'windlass_data'::regnamespace and c.relkind = 'r'
union all
select format('alter index %s set tablespace small', c.oid::regclass) from pg_class as c
where c.relnamespace = 'windlass_data'::regnamespace and c.relkind = 'i'
"""


class DiskFull(Fault):
    """The product's tables have a file system of their own, which has no block left: error 53100."""

    name = "disk"
    leases = 1.0
    refused = 0

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._place: Path | None = None
        self._before = 0

    def absent(self) -> str | None:
        if os.geteuid() != 0:
            return "needs root, to mount a small file system"
        if self.site.standby is not None:
            return "a standby would need its own copy of the small file system"
        place = self.site.primary.root / "small"
        place.mkdir(exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "wlchaos", place], capture_output=True, check=False
        )
        if done.returncode != 0:
            return "this machine mounts no file systems"
        self._place = place
        return None

    def prepare(self) -> None:
        assert self._place is not None
        inner = self._place / "space"
        inner.mkdir(mode=0o700)
        owner = self.site.primary.pgdata.stat()
        os.chown(inner, owner.st_uid, owner.st_gid)
        with self.site.primary.connect() as connection:
            connection.execute(f"create tablespace small location '{inner}'")
            for (statement,) in connection.execute(_MOVE).fetchall():
                connection.execute(statement)
            connection.execute("checkpoint")

    def start(self) -> None:
        assert self._place is not None
        self._before = self.refused
        while not self._resize(self._used()):
            pass  # somebody took a block between the question and the answer

    def heal(self) -> None:
        if self._place is not None:
            self._resize(ROOM)
            self.refused = len(self.site.primary.told(" 53100 ERROR"))

    def _used(self) -> int:
        room = os.statvfs(str(self._place))
        return (room.f_blocks - room.f_bfree) * room.f_frsize

    def _resize(self, size: int) -> bool:
        command = ["mount", "-o", f"remount,size={size}", str(self._place)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def describe(self) -> str:
        return f"no space left on the device, {self.refused - self._before} statements refused"

    def close(self) -> None:
        if self._place is not None:
            self.site.primary.stop()
            subprocess.run(["umount", "-l", self._place], check=False, capture_output=True)
