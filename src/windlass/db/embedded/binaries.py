"""Binaries that the server's account can execute.

Root's site-packages may lie under a directory that nobody else may enter (a pyenv in a 0700 home).  Opening
that directory is not ours to do, so the tree is copied, once per content, to a cache that others may read.
A copy that nobody has asked for in a month goes: its installation was upgraded or removed.
"""

import hashlib
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

from windlass.db.embedded.account import Account
from windlass.db.embedded.locks import held
from windlass.db.embedded.providers import Provider
from windlass.errors import Unavailable

SYSTEM_CACHE = Path("/var/cache/windlass")
UNUSED_SECONDS = 30 * 86_400


def reachable_bin_dir(provider: Provider, account: Account, cache: Path | None = None) -> Path:
    """The provider's own directory, or that of a copy when the account cannot execute it there."""
    if account.can_run(provider.bin_dir / "postgres"):
        return provider.bin_dir
    copied = _copy_tree(provider, _cache_root(cache))
    if not account.can_run(copied / "postgres"):
        raise Unavailable(
            f"the account {account.name!r} can execute neither {provider.bin_dir} nor its copy {copied}:"
            " set WINDLASS_PG_BIN to a directory that it can, or WINDLASS_DATABASE_URL"
        )
    return copied


def _copy_tree(provider: Provider, cache: Path) -> Path:
    """Copy the installation beside its libraries, which it finds by a path relative to its own."""
    prefix = provider.bin_dir.parent
    package = prefix.parent
    libraries = package.with_name(f"{package.name}.libs")
    final = cache / f"{package.name}-{provider.version}-{_fingerprint(prefix, libraries)}"
    bin_dir = final / package.name / prefix.name / provider.bin_dir.name
    with held(cache / "copy.lock"):
        if final.is_dir():
            os.utime(final)  # when it was last asked for
            _drop_unused(cache)
            return bin_dir
        _drop_unused(cache)
        for left_behind in cache.glob(".new-*"):
            shutil.rmtree(left_behind)
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=cache))
        (new / package.name).mkdir()
        shutil.copytree(prefix, new / package.name / prefix.name, symlinks=True, ignore=_not_needed)
        if libraries.is_dir():
            shutil.copytree(libraries, new / libraries.name, symlinks=True)
        _open_to_readers(new)
        new.rename(final)
    return bin_dir


def _drop_unused(cache: Path) -> None:
    """Remove copies for which nobody has asked in a month, unless a server still runs from one."""
    before = time.time() - UNUSED_SECONDS
    for copy in cache.iterdir():
        if copy.is_dir() and not copy.is_symlink() and copy.stat().st_mtime < before and not _in_use(copy):
            shutil.rmtree(copy, ignore_errors=True)


def _in_use(copy: Path) -> bool:
    """Whether some command line names it: a server's own, or that of the guardian that would restart it."""
    name = os.fsencode(copy)
    processes = list(Path("/proc").glob("[0-9]*/cmdline"))
    return not processes or any(name in _read(entry) for entry in processes)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # it has ended


def _not_needed(directory: str, names: list[str]) -> set[str]:
    return {name for name in names if name in ("include", "pgxs", "__pycache__") or name.endswith(".a")}


def _fingerprint(*trees: Path) -> str:
    """Names, sizes and times tell two installations apart without reading 30 MB at each start."""
    digest = hashlib.sha256()
    for tree in trees:
        for path in sorted(tree.rglob("*")):
            entry = path.lstat()
            if not stat.S_ISDIR(entry.st_mode):
                digest.update(
                    f"{path}\0{entry.st_size}\0{entry.st_mtime_ns}\n".encode(errors="surrogateescape")
                )
    return digest.hexdigest()[:16]


def _open_to_readers(tree: Path) -> None:
    """Our own copy only: the modes that a package installed under umask 022 would have."""
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            executable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if executable else 0o644)


def _cache_root(cache: Path | None) -> Path:
    fallback = Path(tempfile.gettempdir()) / f"windlass-{os.geteuid()}-cache"
    for root in [cache] if cache is not None else [SYSTEM_CACHE, fallback]:
        try:
            root.mkdir(mode=0o755)
            root.chmod(0o755)
        except FileExistsError:
            pass
        except OSError:
            continue
        # What lies there will be executed: a directory that others can write is no cache.
        entry = root.lstat()
        if stat.S_ISDIR(entry.st_mode) and entry.st_uid == os.geteuid() and not entry.st_mode & 0o022:
            return root
    raise Unavailable(
        f"found no directory for a copy of the PostgreSQL binaries (tried {SYSTEM_CACHE}, {fallback})"
    )
