"""What a measurement cost: processor time of the worker and of the database, and log bytes written."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Costs", "Meter", "cpu_seconds", "resident_bytes", "server_cpu_seconds"]


@dataclass(frozen=True, slots=True)
class Costs:
    """Per job; None where it cannot be seen from here."""

    worker_us: float | None
    database_us: float | None
    wal_bytes: float | None


class Meter:
    """Reads the counters when started, and again at the end; without a connection those of workers only."""

    def __init__(self, connection: Any, postmaster_pid: int | None, workers: Sequence[int]) -> None:
        self._connection = connection
        self._postmaster_pid = postmaster_pid
        self._workers = list(workers)

    async def start(self) -> "Meter":
        self._before = await self._read()
        return self

    async def stop(self, jobs: int) -> Costs:
        after = await self._read()
        spent = [_less(now, then) for now, then in zip(after, self._before, strict=True)]
        worker, database, wal = spent
        return Costs(
            None if worker is None else worker * 1e6 / jobs,
            None if database is None else database * 1e6 / jobs,
            None if wal is None else wal / jobs,
        )

    async def _read(self) -> tuple[float | None, float | None, float | None]:
        workers = [cpu_seconds(pid) for pid in self._workers]
        known = [seconds for seconds in workers if seconds is not None]
        wal = None
        if self._connection is not None:
            position = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
            wal = float(await self._connection.fetchval(position))
        return (
            sum(known) if len(known) == len(workers) else None,
            None if self._postmaster_pid is None else server_cpu_seconds(self._postmaster_pid),
            wal,
        )


def cpu_seconds(pid: int, *, reaped: bool = False) -> float | None:
    """User and system time of a process, with that of its ended children if asked for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    ticks = sum(int(field) for field in fields[11 : 15 if reaped else 13])
    return ticks / os.sysconf("SC_CLK_TCK")


def server_cpu_seconds(postmaster_pid: int) -> float | None:
    """Of a whole server: its processes, and those that ended."""
    total = cpu_seconds(postmaster_pid, reaped=True)
    if total is None:
        return None
    try:
        text = Path(f"/proc/{postmaster_pid}/task/{postmaster_pid}/children").read_text()
    except OSError:
        return None
    return total + sum(cpu_seconds(int(pid)) or 0.0 for pid in text.split())


def resident_bytes(pid: int) -> int | None:
    """How much memory a process holds now."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def fsync_microseconds(directory: Path, rounds: int = 100) -> float:
    """The median cost of making 8 kB durable there."""
    path = directory / f"windlass-bench-fsync-{os.getpid()}"
    costs = []
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        block = os.urandom(8192)
        os.pwrite(fd, block * 16, 0)
        os.fsync(fd)
        for number in range(rounds):
            began = time.perf_counter()
            os.pwrite(fd, block, (number % 16) * 8192)
            os.fdatasync(fd) if hasattr(os, "fdatasync") else os.fsync(fd)
            costs.append((time.perf_counter() - began) * 1e6)
    finally:
        os.close(fd)
        path.unlink()
    return sorted(costs)[rounds // 2]


def _less(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before
