"""Peers are installed from the public indexes into a cache, once; one that cannot be had says why."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.peers.catalog import Peer
from bench.systems.system import BASE, ON_POSTGRESQL, System

__all__ = ["Absent", "install"]

HERE = Path(__file__).parent
PATIENCE_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Absent:
    """A peer that was asked for and cannot be measured here."""

    name: str
    reason: str


class _Failed(Exception):
    """Installing did not work; the text is the reason."""


def install(peer: Peer, cache: Path, say: Callable[[str], None]) -> System | Absent:
    """The peer, ready to be measured, else why not."""
    if peer.on_redis and shutil.which("redis-server") is None:
        return Absent(peer.name, "redis-server is not installed")
    directory = cache / peer.name
    try:
        if peer.source == "pypi":
            command, version = _from_pypi(peer, directory, say)
        else:
            command, version = _from_npm(peer, directory, say)
    except _Failed as error:
        return Absent(peer.name, str(error))
    return System(
        name=peer.name,
        version=version,
        command=command,
        left_sql=peer.left_sql,
        entered_sql=peer.entered_sql,
        done_sql=peer.done_sql,
        can=(BASE if peer.on_redis else ON_POSTGRESQL) | peer.also,
        acks_trail=peer.acks_trail,
        on_redis=peer.on_redis,
        share=peer.share,
        settings=peer.words,
    )


def _from_pypi(peer: Peer, directory: Path, say: Callable[[str], None]) -> tuple[tuple[str, ...], str]:
    python = directory / "bin" / "python"
    if not _is_made(directory, peer):
        say(f"installing {peer.name} from PyPI")
        shutil.rmtree(directory, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(directory)])
        _run([str(python), "-m", "pip", "install", "--quiet", *peer.packages])
        _mark_made(directory, peer)
    ask = f"import importlib.metadata as m; print(m.version({_bare(peer)!r}))"
    return (str(python), "-m", peer.driver), _run([str(python), "-c", ask]).strip()


def _from_npm(peer: Peer, directory: Path, say: Callable[[str], None]) -> tuple[tuple[str, ...], str]:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise _Failed(f"{program} is not installed")
    if not _is_made(directory, peer):
        say(f"installing {peer.name} from npm")
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        _run(["npm", "install", "--prefix", str(directory), "--no-audit", "--no-fund", *peer.packages])
        _mark_made(directory, peer)
    for script in HERE.glob("*.mjs"):  # a module is looked for from where the script lies
        shutil.copy(script, directory)
    described = json.loads((directory / "node_modules" / _bare(peer) / "package.json").read_text())
    return ("node", str(directory / peer.driver)), str(described["version"])


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS, cwd="/"
        )
    except subprocess.TimeoutExpired:
        raise _Failed(f"{Path(command[0]).name} did not end within {PATIENCE_SECONDS} seconds") from None
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        wrong = [line for line in lines if "error" in line.lower()] or lines or ["no reason given"]
        raise _Failed(wrong[-1][:300])
    return done.stdout


def _bare(peer: Peer) -> str:
    """The name of the package without its version or extras."""
    return peer.packages[0].partition("@")[0].partition("[")[0].partition("==")[0]


def _is_made(directory: Path, peer: Peer) -> bool:
    stamp = directory / "made-from"
    return stamp.exists() and stamp.read_text() == "\n".join(peer.packages)


def _mark_made(directory: Path, peer: Peer) -> None:
    (directory / "made-from").write_text("\n".join(peer.packages))
