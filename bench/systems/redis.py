"""A Redis for those peers that keep their jobs there; only if the machine has one."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

__all__ = ["open_redis"]

PATIENCE_SECONDS = 10.0


def _await(socket: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not socket.exists():
        if time.monotonic() > deadline:
            raise TimeoutError("redis-server did not start")
        time.sleep(0.02)


@asynccontextmanager
async def open_redis() -> AsyncIterator[str]:
    """The path of a fresh server's socket; its log is flushed every second, as most run it."""
    program = shutil.which("redis-server")
    if program is None:
        raise FileNotFoundError("redis-server is not installed")
    with tempfile.TemporaryDirectory(prefix="windlass-bench-redis-", ignore_cleanup_errors=True) as directory:
        socket = Path(directory) / "redis.sock"
        options = ["--port", "0", "--unixsocket", str(socket), "--dir", directory, "--save", ""]
        options += ["--appendonly", "yes", "--appendfsync", "everysec"]
        process = await asyncio.create_subprocess_exec(
            program, *options, stdout=asyncio.subprocess.DEVNULL, start_new_session=True
        )
        try:
            await asyncio.to_thread(_await, socket)
            yield str(socket)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
