"""A wire between a client and the server that can be cut at the worst moment."""

import contextlib
import socket
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.pooler import tell_of_pooler


class Proxy:
    """Passes bytes both ways through a socket of its own; what it does to them is decided per call.

    `swallow()` lets the next request through to the server, waits for its answer and cuts the connection
    instead of delivering it: what was asked for has happened, but whoever asked cannot know.
    """

    def __init__(self, url: str, directory: Path) -> None:
        split = urlsplit(url)
        query = parse_qs(split.query)
        self._server = f"{query['host'][0]}/.s.PGSQL.{query['port'][0]}"
        self.url = f"postgresql://{split.netloc}{split.path}?host={directory}&port=5432"
        tell_of_pooler(url, directory)
        self._path = directory / ".s.PGSQL.5432"
        self._listener: socket.socket | None = None
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._swallowing = False
        self.swallowed = 0
        self.accepted = 0
        self.accept()

    def accept(self) -> None:
        """Let clients in."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen()
        threading.Thread(target=self._serve, args=[self._listener], daemon=True).start()

    def refuse(self) -> None:
        """Cut every connection and let nobody in."""
        if self._listener is not None:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
            self._path.unlink()
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _cut(*pair)

    def swallow(self) -> None:
        self._swallowing = True

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            with self._lock:
                self._pairs.append((client, server))
                self.accepted += 1
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=[source, target, server], daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, server: socket.socket) -> None:
        swallow_here = False
        try:
            while data := source.recv(65536):
                if source is server and (swallow_here or self._swallowing):
                    self._swallowing, swallow_here = False, True
                    # The server is ready for the next statement: this one has been committed.
                    if data.endswith(b"Z\x00\x00\x00\x05I"):
                        self.swallowed += 1
                        break
                    continue
                target.sendall(data)
        except OSError:
            pass
        _cut(source, target)


def _cut(*sockets: socket.socket) -> None:
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
