"""Make a cluster and write down how its server is to run."""

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from windlass.db.embedded.account import Account
from windlass.db.embedded.home import Home
from windlass.db.embedded.locks import FileLock, held
from windlass.db.embedded.postmaster import SUPERUSER
from windlass.db.embedded.providers import Provider
from windlass.errors import InvalidInput, Unavailable

DEFAULTS = {
    "max_connections": "200",
    "shared_buffers": "128MB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_line_prefix": "%m [%p] %q%u@%d ",
    "cluster_name": "windlass",
}
# A temporary server need not outlive the machine, and must leave nothing outside its directory.
EPHEMERAL = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "log_checkpoints": "off",
    "dynamic_shared_memory_type": "mmap",
    # Written again rather than piled up: the directory may be one in memory.
    "min_wal_size": "32MB",
    "max_wal_size": "256MB",
}
RESERVED = frozenset(
    {
        "config_file",
        "data_directory",
        "external_pid_file",
        "hba_file",
        "ident_file",
        "listen_addresses",
        "log_destination",
        "logging_collector",
        "port",
        "unix_socket_directories",
        "unix_socket_group",
        "unix_socket_permissions",
    }
)


def check_version(home: Home, provider: Provider) -> None:
    """Refuse data of another major version before anything is touched."""
    made_by = home.data_major()
    if made_by is not None and made_by != provider.major:
        raise InvalidInput(
            f"the data in {home.pgdata} was made by PostgreSQL {made_by}, but {provider.name} has"
            f" {provider.version}: set WINDLASS_PG_BIN to the binaries of PostgreSQL {made_by}, or move the"
            " data with pg_dump, or choose another data directory; nothing was changed",
            data_version=made_by,
            server_version=provider.version,
        )


def ensure_cluster(home: Home, bin_dir: Path, account: Account, *, ephemeral: bool) -> None:
    """Make the cluster if there is none, and remove what killed starts left half-made.

    The initdb of a killed start runs on for a moment and holds the lock as long; to take the directory from
    under it would leave its shared memory behind.
    """
    with held(home.cluster_lock) as lock:
        for left_behind in home.root.glob("pgdata.new-*"):
            shutil.rmtree(left_behind)
        if not home.pgdata.exists():
            _make_cluster(home, bin_dir, account, lock, ephemeral=ephemeral)


def _make_cluster(home: Home, bin_dir: Path, account: Account, lock: FileLock, *, ephemeral: bool) -> None:
    """Run initdb beside the final place and rename: a half-made cluster is never mistaken for data."""
    account.check_named()
    new = Path(tempfile.mkdtemp(prefix="pgdata.new-", dir=home.root))
    if account.is_lent:
        os.chown(new, account.uid, account.gid)
    command: list[str | Path] = [
        bin_dir / "initdb",
        "-D",
        new,
        "-U",
        SUPERUSER,
        "--encoding=UTF8",
        "--locale=C",
    ]
    command += ["--auth-local=trust", "--auth-host=reject", "--no-instructions"]
    command += ["--no-sync"] if ephemeral else ["--data-checksums"]
    made = account.run(command, keep_open=lock)
    if made.returncode != 0:
        shutil.rmtree(new)
        raise Unavailable(f"initdb could not make a cluster in {home.root}: {made.stderr.strip()}")
    new.rename(home.pgdata)
    if not ephemeral:
        _sync_directory(home.root)


def write_configuration(home: Home, settings: Mapping[str, str], *, ephemeral: bool) -> None:
    """Both files are written anew at each start; lasting changes belong into ALTER SYSTEM."""
    chosen = {**DEFAULTS, **(EPHEMERAL if ephemeral else {}), **settings}
    lines = [f"{name} = {_quoted(value)}" for name, value in chosen.items()]
    _write(home.conf, ["# Written by Windlass at each start of the server.", *lines])
    # The socket lies in a 0700 directory, which is its guard.  Over TCP there is no trust, and no superuser.
    rules = [
        "local all all trust",
        f"host all {SUPERUSER} all reject",
        "host all all 127.0.0.1/32 scram-sha-256",
    ]
    _write(home.hba, rules)


def server_command(home: Home, bin_dir: Path, socket_dir: Path, port: int, *, tcp: bool) -> list[str]:
    """What ALTER SYSTEM must not be able to change is on the command line."""
    fixed = {
        "config_file": str(home.conf),
        "hba_file": str(home.hba),
        "listen_addresses": "127.0.0.1" if tcp else "",
        "port": str(port),
        "unix_socket_directories": '"' + str(socket_dir).replace('"', '""') + '"',
        "unix_socket_permissions": "0700",
        "logging_collector": "off",
        "log_destination": "stderr",
    }
    options = [part for name, value in fixed.items() for part in ("-c", f"{name}={value}")]
    return [str(bin_dir / "postgres"), "-D", str(home.pgdata), *options]


def check_settings(settings: Mapping[str, str]) -> None:
    """Refuse what is the supervisor's own and what a configuration file cannot hold."""
    for name, value in settings.items():
        if name.lower() in RESERVED:
            raise InvalidInput(f"the server setting {name!r} is the supervisor's own")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", name) or re.search(r"[\0\r\n]", value):
            raise InvalidInput(
                f"the server setting {name!r} has a name or value that no configuration file can hold"
            )


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _write(path: Path, lines: list[str]) -> None:
    """Replace a file as a whole; the server's account may read it, there is no secret in it."""
    new = path.with_name(path.name + ".new")
    new.write_text("\n".join(lines) + "\n")
    new.chmod(0o644)
    new.replace(path)


def _sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
