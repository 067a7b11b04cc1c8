"""One PostgreSQL server of our own: started by one process, shared by any number.

Whoever comes first becomes the owner; the server ends with it, however it ends.  All others attach, and one
of those that keep it running then becomes the next owner.  Two locks decide: the start lock makes one process
at a time look or act, the server lock, held by the guardian, says that a server may be running.
"""

import atexit
import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from windlass.db.embedded.account import Account, server_account
from windlass.db.embedded.bootstrap import APP, DATABASE, read_password
from windlass.db.embedded.cluster import check_settings
from windlass.db.embedded.ephemeral import discard, make_home, remove, sweep
from windlass.db.embedded.home import Home, State, default_data_dir, persistent_home
from windlass.db.embedded.launch import PATIENCE_SECONDS, GuardianProcess, Request, start_or_attach
from windlass.db.embedded.locks import FileLock, held, is_held
from windlass.db.embedded.postmaster import end_postmaster, living_postmaster
from windlass.errors import InvalidInput, Unavailable


class EmbeddedServer:
    """A running server, as its owner or attached to somebody else's.

    The owner stops it: by `stop()`, by leaving the `with` block, or by ending in any way at all.
    """

    def __init__(
        self, home: Home, account: Account, request: Request, state: State, guardian: GuardianProcess | None
    ) -> None:
        self._home = home
        self._account = account
        self._request = request
        self._state = state
        self._guardian = guardian
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._let_go = False
        self.owner = False
        self._note_owner()

    @classmethod
    def start(
        cls,
        data_dir: Path | None = None,
        *,
        ephemeral: bool = False,
        bin_dir: Path | None = None,
        settings: Mapping[str, str] | None = None,
        tcp: bool = False,
        in_memory: bool = False,
    ) -> Self:
        """Start the server of `data_dir`, or attach to it if it runs already.

        `ephemeral` gives a server of its own in a temporary directory that goes when it stops; with
        `in_memory` that directory is one in memory, where there is room for it.  `settings` are server
        settings and count for whoever starts it.  `tcp` adds a loopback port with passwords.
        Returns once the server answers and has its roles and database; a long crash recovery is waited for.
        """
        if os.name != "posix":
            raise Unavailable("the embedded server needs Linux or macOS: set WINDLASS_DATABASE_URL")
        if ephemeral and data_dir is not None:
            raise InvalidInput("an ephemeral server chooses its own temporary directory: leave data_dir out")
        if in_memory and not ephemeral:
            raise InvalidInput("only an ephemeral server can have its data in memory: nothing of it is kept")
        request = Request(bin_dir, dict(settings or {}), tcp, ephemeral)
        check_settings(request.settings)
        account = server_account()
        sweep(account)
        if ephemeral:
            home, lock = make_home(account, in_memory=in_memory)
        else:
            home = persistent_home(Path(data_dir or default_data_dir()), account)
            lock = _start_lock(home)
        try:
            return cls(home, account, request, *start_or_attach(home, account, request))
        except BaseException as error:
            if ephemeral:
                remove(home)
            if isinstance(error, OSError):
                raise Unavailable(f"the server in {home.root} could not be started: {error}") from error
            raise
        finally:
            lock.drop()

    @property
    def data_dir(self) -> Path:
        """The directory that holds everything of this server; the cluster is `pgdata` in it."""
        return self._home.root

    @property
    def log_path(self) -> Path:
        return self._home.log

    @property
    def bin_dir(self) -> Path:
        """The server's programs, psql and the like among them where the provider ships them."""
        return Path(self._state.bin_dir)

    @property
    def major_version(self) -> int:
        return self._state.major_version

    @property
    def postmaster_pid(self) -> int | None:
        """The server's process right now; another one after a crash, None while there is none."""
        return living_postmaster(self._home.pgdata)

    @property
    def guardian_pid(self) -> int:
        """The process between the owner and the server."""
        return self._state.guardian_pid

    def url(self, role: str = APP, database: str = DATABASE) -> str:
        """A URL over the private socket, which this user and root can reach."""
        host, port = quote(self._state.socket_dir, safe="/"), self._state.port
        return f"postgresql://{quote(role, safe='')}@/{quote(database, safe='')}?host={host}&port={port}"

    def tcp_url(self, role: str = APP, database: str = DATABASE) -> str:
        """A URL over the loopback port, with the role's generated password."""
        if not self._state.tcp:
            raise InvalidInput("this server was started without a TCP port: start it with tcp=True")
        password = read_password(self._home, role)
        if password is None:
            raise InvalidInput(f"the role {role!r} has no generated password: use its socket URL")
        credentials = f"{quote(role, safe='')}:{quote(password, safe='')}"
        return f"postgresql://{credentials}@127.0.0.1:{self._state.port}/{quote(database, safe='')}"

    def ensure_running(self) -> None:
        """Start the server again if even its guardian is gone; `url()` stays the same.

        For the owner that is so when the guardian was killed.  For one that attached it is also so when the
        owner ended: whoever comes first then is the next owner, and the others attach to it.  A crash of the
        server alone needs nobody's help, the guardian restarts it.
        """
        if os.getpid() != self._process:
            return
        with self._turn:
            if self._let_go or self._is_guarded():
                return
            request = replace(self._request, tcp=self._state.tcp)
            with held(self._home.start_lock):
                self._state, self._guardian = start_or_attach(self._home, self._account, request)
            self._note_owner()

    def _is_guarded(self) -> bool:
        if self._guardian is not None:
            return self._guardian.poll() is None
        return is_held(self._home.server_lock)

    def _note_owner(self) -> None:
        if self._guardian is not None and not self.owner:
            atexit.register(self.stop)
        elif self._guardian is None and self.owner:
            atexit.unregister(self.stop)
        self.owner = self._guardian is not None

    def stop(self) -> None:
        """Fast shutdown, once, by the owner; returns when the server has ended.  Attached: only lets go."""
        if os.getpid() != self._process:
            return
        with self._turn:
            self._let_go = True
            guardian, self._guardian = self._guardian, None
            if guardian is not None:
                atexit.unregister(self.stop)
                self._end(guardian)

    def _end(self, guardian: GuardianProcess) -> None:
        guardian.send_signal(signal.SIGTERM)
        guardian.wait()
        if guardian.returncode != 0:
            # The guardian was killed, or gave up: what it would have done is left to us.
            end_postmaster(self._home.pgdata, PATIENCE_SECONDS)
        if self._request.ephemeral:
            discard(self._home)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _start_lock(home: Home) -> FileLock:
    lock = FileLock(home.start_lock)
    try:
        lock.take(wait=True)
    except PermissionError as error:
        raise Unavailable(f"the server in {home.root} belongs to another user: {error}") from error
    return lock
