"""Bring a server up under a guardian, or find the one that is up.  All of it under the start lock."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from windlass.db.embedded.account import Account, account_of, bare_environment
from windlass.db.embedded.binaries import reachable_bin_dir
from windlass.db.embedded.bootstrap import bootstrap
from windlass.db.embedded.cluster import (
    check_version,
    ensure_cluster,
    server_command,
    write_configuration,
)
from windlass.db.embedded.guardian import Spec
from windlass.db.embedded.home import Home, State
from windlass.db.embedded.locks import is_held
from windlass.db.embedded.postmaster import Answer, ask, end_postmaster
from windlass.db.embedded.providers import Provider, choose_provider
from windlass.errors import InvalidInput, Unavailable

SOCKET_PORT = 5432
POLL_SECONDS = 0.01
REMARK_SECONDS = 10.0
SILENT_SECONDS = 60.0
PATIENCE_SECONDS = 60.0
LOG_LIMIT = 16 * 1024 * 1024
LAST_LINES = 8
FREE_PORTS = 5
PORT_TAKEN = "could not create any TCP/IP sockets"

logger = logging.getLogger(__name__)

GuardianProcess = subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller of start() asked for."""

    bin_dir: Path | None
    settings: Mapping[str, str]
    tcp: bool
    ephemeral: bool


def start_or_attach(home: Home, account: Account, request: Request) -> tuple[State, GuardianProcess | None]:
    """Attach while a guardian holds the server lock, else start; a guardian only when we started."""
    while is_held(home.server_lock):
        state = _attach(home)
        if state is None:
            continue
        if request.tcp and not state.tcp:
            raise InvalidInput(f"the server in {home.root} already runs, without a TCP port")
        return state, None
    provider = choose_provider(request.bin_dir, major=home.data_major())
    check_version(home, provider)
    return _start(home, provider, _account_for(home, account), request)


def _account_for(home: Home, account: Account) -> Account:
    """Existing data decides: root goes on with the account that it lent before."""
    if not home.pgdata.exists():
        return account
    holder = account_of(home.pgdata)
    if holder.is_lent and os.geteuid() != 0:
        raise InvalidInput(f"the data in {home.pgdata} belongs to {holder.name!r}: start it as that user")
    return holder


def _attach(home: Home) -> State | None:
    """The running server's address; None when it ended instead of answering."""
    silence = _Silence()
    while is_held(home.server_lock):
        state = home.read_state()
        answer = ask(Path(state.socket_dir), state.port, home.pgdata) if state is not None else Answer.SILENT
        if answer is Answer.READY:
            return state
        if silence.lasts_too_long(broken=answer is Answer.BUSY):
            raise Unavailable(f"a server holds {home.server_lock} but does not answer", log=str(home.log))
        time.sleep(POLL_SECONDS)
    return None


def _start(
    home: Home, provider: Provider, account: Account, request: Request
) -> tuple[State, GuardianProcess]:
    """Make what is missing, then start the server and wait until it is ready for the product."""
    end_postmaster(home.pgdata, PATIENCE_SECONDS)
    bin_dir = reachable_bin_dir(provider, account)
    write_configuration(home, request.settings, ephemeral=request.ephemeral)
    ensure_cluster(home, bin_dir, account, ephemeral=request.ephemeral)
    socket_dir = home.make_socket_dir(account)
    reason = ""
    for port in _ports(home, request):
        log_from = _size(home.log)
        command = server_command(home, bin_dir, socket_dir, port, tcp=request.tcp)
        guardian = _spawn_guardian(home, account, command, socket_dir, request)
        state = _state(provider, bin_dir, socket_dir, port, guardian, request)
        if _bring_up(home, guardian, state):
            return state, guardian
        reason = _log_tail(home.log, log_from)
        if PORT_TAKEN not in reason:
            break
    raise Unavailable(f"the embedded server in {home.root} did not start: {reason}", log=str(home.log))


def _bring_up(home: Home, guardian: GuardianProcess, state: State) -> bool:
    """False when the server could not start; on any other trouble the guardian is dismissed first."""
    try:
        if not _await_ready(home, guardian, state):
            return False
        bootstrap(home, state)
        home.write_state(state)
    except BaseException:
        guardian.send_signal(signal.SIGTERM)
        guardian.wait()
        raise
    return True


def _state(
    provider: Provider,
    bin_dir: Path,
    socket_dir: Path,
    port: int,
    guardian: GuardianProcess,
    request: Request,
) -> State:
    return State(
        socket_dir=str(socket_dir),
        port=port,
        major_version=provider.major,
        tcp=request.tcp,
        owner_pid=os.getpid(),
        guardian_pid=guardian.pid,
        provider=provider.name,
        bin_dir=str(bin_dir),
    )


def _spawn_guardian(
    home: Home, account: Account, command: list[str], socket_dir: Path, request: Request
) -> GuardianProcess:
    spec = Spec(
        owner_pid=os.getpid(),
        command=command,
        environment=bare_environment(),
        pgdata=str(home.pgdata),
        lock=str(home.server_lock),
        log=str(home.log),
        log_limit=LOG_LIMIT,
        remove=[str(socket_dir), str(home.root)] if request.ephemeral else [str(socket_dir)],
        patience=PATIENCE_SECONDS,
        uid=account.uid if account.is_lent else None,
        gid=account.gid if account.is_lent else None,
    )
    script = Path(__file__).with_name("guardian.py")
    log = os.open(home.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(script), json.dumps(asdict(spec))],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            umask=0o077,
            start_new_session=True,
        )
    finally:
        os.close(log)


def _await_ready(home: Home, guardian: GuardianProcess, state: State) -> bool:
    """Wait as long as there is a sign of life: an answer of any kind, or a growing log."""
    silence, log_size, remark_at = _Silence(), _size(home.log), time.monotonic() + REMARK_SECONDS
    while guardian.poll() is None:
        answer = ask(Path(state.socket_dir), state.port, home.pgdata)
        if answer is Answer.READY:
            return True
        grown, log_size = _size(home.log) != log_size, _size(home.log)
        if silence.lasts_too_long(broken=answer is Answer.BUSY or grown):
            raise Unavailable(f"the embedded server in {home.root} shows no sign of life", log=str(home.log))
        if time.monotonic() > remark_at:
            logger.info("the embedded server in %s is still recovering", home.root)
            remark_at += REMARK_SECONDS
        time.sleep(POLL_SECONDS)
    return False


class _Silence:
    """How long nothing has been heard."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def lasts_too_long(self, *, broken: bool) -> bool:
        if broken:
            self._since = time.monotonic()
        return time.monotonic() > self._since + SILENT_SECONDS


def _ports(home: Home, request: Request) -> Iterator[int]:
    """A private socket needs no port of its own; over TCP the one used before is tried first."""
    if not request.tcp:
        yield SOCKET_PORT
        return
    before = home.read_state()
    if before is not None and before.tcp:
        yield before.port
    for _ in range(FREE_PORTS):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        yield port


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _log_tail(path: Path, start: int) -> str:
    """The last that was said, which is why it ended."""
    try:
        with path.open("rb") as log:
            log.seek(start)
            lines = log.read(1 << 16).decode(errors="replace").splitlines()
    except OSError:
        return "there is no log"
    return "\n".join(lines[-LAST_LINES:]) or "the log says nothing"
