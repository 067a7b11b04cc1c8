"""A wire between clients and the server that fails in the ways wires do."""

import contextlib
import os
import random
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

__all__ = ["Mode", "Proxy"]

Mode = Literal["pass", "cut", "delay", "half-open", "refuse"]

# The end of an answer outside a transaction: what was asked for has been committed.
_READY = b"Z\x00\x00\x00\x05I"


class Proxy:
    """Passes bytes both ways, from a private socket or from a TCP address of its own.

    `cut`: some requests reach the server and are carried out, but instead of the answer the connection ends.
    `delay`: every piece takes its time.  `half-open`: nothing passes and nobody hangs up; new connections are
    taken and never answered.  `refuse`: every connection ends and none is taken.
    """

    def __init__(
        self,
        upstream: Callable[[], Path],
        *,
        directory: Path | None = None,
        address: str | None = None,
        seed: int = 0,
    ) -> None:
        self._upstream = upstream
        self._directory = directory
        self._address = address
        self._random = random.Random(seed)
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._passes = threading.Event()
        self._passes.set()
        self._listener: socket.socket | None = None
        self._port = 5432
        self._closed = False
        self.mode: Mode = "pass"
        self.share = 0.1
        """Which part of the answers is cut off."""
        self.seconds = 0.2
        """How long a delay is."""
        self.swallowed = 0
        """Answers that were cut off so far."""
        self._listen()

    def url(self, role: str = "windlass_app", database: str = "windlass") -> str:
        host = self._address if self._directory is None else self._directory
        return f"postgresql://{role}@/{database}?host={host}&port={self._port}"

    def set(self, mode: Mode) -> None:
        """From now on; what was half open or refused before is cut, as by a peer that forgot it."""
        before, self.mode = self.mode, mode
        if before == "half-open" or mode == "refuse":
            self._cut_all()
        if mode == "half-open":
            self._passes.clear()
        else:
            self._passes.set()
        if mode == "refuse":
            self._hang_up()
        elif self._listener is None:
            self._listen()

    def close(self) -> None:
        self._closed = True
        self._hang_up()
        self._passes.set()
        self._cut_all()

    def _listen(self) -> None:
        if self._directory is not None:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(self._directory / f".s.PGSQL.{self._port}"))
        else:
            listener = socket.create_server((str(self._address), 0 if self._port == 5432 else self._port))
            self._port = listener.getsockname()[1]
        listener.listen(64)
        self._listener = listener
        threading.Thread(target=self._serve, args=[listener], daemon=True).start()

    def _hang_up(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            if self._directory is not None:
                (self._directory / f".s.PGSQL.{self._port}").unlink(missing_ok=True)

    def _cut_all(self) -> None:
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _end(*pair)

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(os.fspath(self._upstream()))
            except OSError:
                _end(client, server)
                continue
            with self._lock:
                self._pairs.append((client, server))
            for source, target in ((client, server), (server, client)):
                wire = threading.Thread(target=self._pass_on, args=[source, target, source is server])
                wire.daemon = True
                wire.start()

    def _pass_on(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        swallowing = False
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._passes.wait()
                if self.mode == "delay":
                    time.sleep(self.seconds)
                if answers and (swallowing or (self.mode == "cut" and self._random.random() < self.share)):
                    swallowing = True
                    if data.endswith(_READY):
                        self.swallowed += 1
                        break
                    continue
                target.sendall(data)
        with self._lock:
            self._pairs = [pair for pair in self._pairs if source not in pair]
        _end(source, target)


def _end(*sockets: socket.socket) -> None:
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
