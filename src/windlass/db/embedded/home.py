"""The directory of one server: its data, its locks, its socket, its log.

    <home>/start.lock    held by whoever is starting or attaching, for that moment
           server.lock   held by the guardian for as long as the server may run
           cluster.lock  held by initdb and whoever waits for it
           state.json    how to reach the server; written when it is ready
           server.conf, pg_hba.conf, server.log, pgpass
           pgdata/       the cluster   run/   the socket; both 0700 and the server account's own

For root the home is root's and open to be passed through (0711), so that the lent account reaches `pgdata`
and can replace nothing that root will open later.  For anybody else it is 0700.
"""

import hashlib
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from windlass.db.embedded.account import Account
from windlass.errors import InvalidInput, Unavailable

SYSTEM_STATE = Path("/var/lib/windlass")
LONGEST_SOCKET_PATH = 107 if sys.platform.startswith("linux") else 103
SOCKET_NAME_ROOM = len("/.s.PGSQL.65535")
MEMORY = Path("/dev/shm")  # noqa: S108 - mkdtemp inside
MEMORY_ROOM = 1024**3


@dataclass(frozen=True, slots=True)
class State:
    """What another process must know to attach."""

    socket_dir: str
    port: int
    major_version: int
    tcp: bool
    owner_pid: int
    guardian_pid: int
    provider: str
    bin_dir: str


@dataclass(frozen=True, slots=True)
class Home:
    root: Path

    @property
    def pgdata(self) -> Path:
        return self.root / "pgdata"

    @property
    def start_lock(self) -> Path:
        return self.root / "start.lock"

    @property
    def server_lock(self) -> Path:
        return self.root / "server.lock"

    @property
    def cluster_lock(self) -> Path:
        return self.root / "cluster.lock"

    @property
    def log(self) -> Path:
        return self.root / "server.log"

    @property
    def conf(self) -> Path:
        return self.root / "server.conf"

    @property
    def hba(self) -> Path:
        return self.root / "pg_hba.conf"

    @property
    def passwords(self) -> Path:
        return self.root / "pgpass"

    def socket_dir(self) -> Path:
        """Inside the home, unless no socket address could hold the path or a host list would split it."""
        inside = self.root / "run"
        if len(os.fsencode(inside)) + SOCKET_NAME_ROOM <= LONGEST_SOCKET_PATH and "," not in str(inside):
            return inside
        name = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        return Path("/tmp") / f"windlass-run-{os.geteuid()}-{name}"  # noqa: S108 - checked by make_socket_dir

    def make_socket_dir(self, account: Account) -> Path:
        """A fresh 0700 directory; the leftovers of a server that is known to be dead are removed."""
        path = self.socket_dir()
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            entry = path.lstat()
            if not stat.S_ISDIR(entry.st_mode) or entry.st_uid not in (account.uid, os.geteuid()):
                raise Unavailable(
                    f"{path}, where the server's socket belongs, is not ours: remove it"
                ) from None
            shutil.rmtree(path)
            path.mkdir(mode=0o700)
        if account.is_lent:
            os.chown(path, account.uid, account.gid, follow_symlinks=False)
        return path

    def read_state(self) -> State | None:
        try:
            return State(**json.loads((self.root / "state.json").read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write_state(self, state: State) -> None:
        new = self.root / "state.json.new"
        new.write_text(json.dumps(asdict(state), indent=2) + "\n")
        new.chmod(0o600)
        new.replace(self.root / "state.json")

    def data_major(self) -> int | None:
        """Which release made the data that is already here, if there is any."""
        try:
            return int((self.pgdata / "PG_VERSION").read_text().strip())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"{self.pgdata} is not a readable PostgreSQL data directory: {error}"
            ) from error


def default_data_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Where a persistent server lives when nobody says otherwise."""
    if environ.get("WINDLASS_DATA_DIR"):
        return Path(environ["WINDLASS_DATA_DIR"])
    if os.geteuid() == 0:
        return SYSTEM_STATE
    state = Path(environ.get("XDG_STATE_HOME", ""))
    try:
        base = state if state.is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError as error:
        raise InvalidInput("this user has no home directory: set WINDLASS_DATA_DIR") from error
    return base / "windlass"


def persistent_home(data_dir: Path, account: Account) -> Home:
    """Open or make the home at `data_dir`; what exists already keeps its owner and its mode."""
    root = Path(os.path.realpath(data_dir.expanduser()))
    if _is_there(root / "PG_VERSION"):
        raise InvalidInput(
            f"{root} is itself a PostgreSQL data directory: name a directory of Windlass's own"
        )
    existing = next(path for path in [root, *root.parents] if _is_there(path))
    if not existing.is_dir():
        raise InvalidInput(f"{existing} is a file: name a directory for the data with WINDLASS_DATA_DIR")
    _check_reachable(existing, account)
    _make_missing(root, account)
    entry = root.stat()
    if account.is_lent and entry.st_uid != os.geteuid():
        raise InvalidInput(f"{root} belongs to another user: start the server as that user, not as root")
    if not stat.S_ISDIR(entry.st_mode) or not os.access(root, os.W_OK | os.X_OK):
        raise InvalidInput(f"{root} is not a directory that this user can write")
    return Home(root)


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:  # it may be there, behind a directory that this user may not enter
        raise InvalidInput(
            f"cannot look for {path}: {error.strerror}; choose another data directory with WINDLASS_DATA_DIR"
        ) from error
    return True


def temporary_bases(account: Account) -> list[Path]:
    """Directories for temporary homes that the server's account can pass through."""
    named = dict.fromkeys([tempfile.gettempdir(), "/tmp", "/var/tmp"])  # noqa: S108 - mkdtemp inside
    bases = [Path(os.path.realpath(name)) for name in named]
    return [base for base in bases if os.access(base, os.W_OK | os.X_OK) and account.can_enter(base)]


def memory_base(account: Account) -> Path | None:
    """The directory whose files are kept in memory, if the server's account can use it; macOS has none."""
    usable = MEMORY.is_dir() and os.access(MEMORY, os.W_OK | os.X_OK) and account.can_enter(MEMORY)
    return MEMORY if usable else None


def memory_room() -> int:
    """How many bytes could be put there: a container's may be tiny, and a machine's is shared by all."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")) * 1024
        return min(available, shutil.disk_usage(MEMORY).free)
    except (OSError, ValueError, StopIteration):
        return 0


def _check_reachable(directory: Path, account: Account) -> None:
    if not account.can_enter(directory):
        raise InvalidInput(
            f"the server runs as {account.name!r}, which cannot enter {directory}: let it in, or choose"
            f" another data directory with WINDLASS_DATA_DIR (for root the default is {SYSTEM_STATE})"
        )


def _make_missing(root: Path, account: Account) -> None:
    missing = [path for path in [root, *root.parents] if not _is_there(path)]
    home_mode = 0o711 if account.is_lent else 0o700
    for path in reversed(missing):
        mode = home_mode if path == root else 0o755
        try:
            path.mkdir(mode=mode)
            path.chmod(mode)  # a strict umask must not lock out the server's own account
        except FileExistsError:
            continue
        except OSError as error:
            raise InvalidInput(f"cannot make the data directory {root}: {error}") from error
