"""A worker whose handlers burn, and who writes down how late its event loop is meanwhile."""

import asyncio
import sys
import time
from pathlib import Path

from windlass import Windlass
from windlass.node import Node, run_node
from windlass.settings import Settings
from windlass.telemetry import configure_logging

__all__ = ["GAP", "app"]

GAP = 0.005
app = Windlass()


def in_python(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def in_c(seconds: float) -> None:
    """Each call keeps the interpreter's lock until it is done, as an extension module may."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(5_000_000))


@app.job
def python_in_thread(seconds: float) -> None:
    in_python(seconds)


@app.job
def c_in_thread(seconds: float) -> None:
    in_c(seconds)


@app.job(isolation="process")
def python_in_process(seconds: float) -> None:
    in_python(seconds)


@app.job(isolation="process")
def c_in_process(seconds: float) -> None:
    in_c(seconds)


async def probe(path: Path) -> None:
    """Ask to be woken again and again; note when that should have been, and how late it was."""
    with path.open("a", buffering=1) as file:
        while True:
            due = time.monotonic() + GAP
            await asyncio.sleep(GAP)
            file.write(f"{due:.6f} {time.monotonic() - due:.6f}\n")


def main(path: Path) -> None:
    settings = Settings.from_env()
    configure_logging(settings.log_format, settings.log_level, worker_id=settings.node_name)
    probes: list[asyncio.Task[None]] = []

    def ready(_: Node) -> None:
        probes.append(asyncio.get_running_loop().create_task(probe(path)))

    run_node(settings, app, ready=ready)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
