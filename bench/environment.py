"""Where the figures come from: machine, versions, settings, and what one fsync costs."""

import os
import platform
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.probe import fsync_microseconds
from bench.process import ROOT
from bench.server import DURABLE, MeasuredServer, file_system

__all__ = ["describe"]

_SHOWN = (*DURABLE, "wal_sync_method", "autovacuum")


async def describe(server: MeasuredServer) -> dict[str, Any]:
    """Recorded with the results; names no path and no host."""
    connection = await server.connect()
    try:
        settings = {name: await connection.fetchval(f"show {name}") for name in _SHOWN}
        version = await connection.fetchval("show server_version")
    finally:
        await connection.close()
    directory = server.data_dir or Path(tempfile.gettempdir())
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "node": _version_of("node"),
        "postgresql": version,
        "server": "embedded" if server.data_dir else "named by --database-url",
        "settings": settings,
        "file_system": file_system(directory) if server.data_dir else "unknown",
        "fsync_us": round(fsync_microseconds(directory)) if server.data_dir else None,
        "load_before": round(os.getloadavg()[0], 2),
        "revision": _revision(),
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version_of(program: str) -> str | None:
    if shutil.which(program) is None:
        return None
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def _revision() -> str | None:
    if shutil.which("git") is None:
        return None
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None
