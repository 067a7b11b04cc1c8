"""A worker on a network of its own, whose cable is pulled."""

import os
import shutil
import subprocess

from tests.chaos.faults.base import Fault
from tests.chaos.proxy import Proxy
from tests.chaos.site import Site, Slot

__all__ = ["Namespace"]


class Namespace(Fault):
    """Packets vanish: no refusal, no reset, no end.  Afterwards the old connections may go on."""

    name = "namespace"
    leases = 1.5
    _slot: Slot | None = None
    _relay: Proxy | None = None

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        number = os.getpid() % 10_000
        self._space = f"wlchaos{number}"
        self._ours, self._theirs = f"wlo{number}", f"wlt{number}"
        self._network = f"10.213.{number % 250}"
        self._made = False

    def absent(self) -> str | None:
        if os.geteuid() != 0 or shutil.which("ip") is None:
            return "needs root and the program ip"
        try:
            self._make()
        except (subprocess.CalledProcessError, OSError) as error:
            self.close()
            return f"this machine makes no network namespaces ({error})"
        return None

    def _make(self) -> None:
        if self._made:
            return
        self._ip("netns", "add", self._space)
        self._made = True
        self._ip("link", "add", self._ours, "type", "veth", "peer", "name", self._theirs)
        self._ip("link", "set", self._theirs, "netns", self._space)
        self._ip("addr", "add", f"{self._network}.1/24", "dev", self._ours)
        self._ip("link", "set", self._ours, "up")
        self._ip("-n", self._space, "addr", "add", f"{self._network}.2/24", "dev", self._theirs)
        self._ip("-n", self._space, "link", "set", self._theirs, "up")

    def prepare(self) -> None:
        site = self.site
        self._relay = Proxy(
            lambda: site.primary.socket_dir / ".s.PGSQL.5432", address=f"{self._network}.1", seed=site.seed
        )
        prefix = ["ip", "netns", "exec", self._space]
        self._slot = site.open_slot("remote", f"{self._relay.url()}&sslmode=disable", prefix=prefix)

    def start(self) -> None:
        self._ip("-n", self._space, "link", "set", self._theirs, "down")

    def heal(self) -> None:
        if self._made:
            self._ip("-n", self._space, "link", "set", self._theirs, "up")

    def describe(self) -> str:
        return "the network of the worker `remote` is down"

    def close(self) -> None:
        if self._relay is not None:
            self._relay.close()
        if self._made:
            subprocess.run(["ip", "netns", "del", self._space], check=False, capture_output=True)
            subprocess.run(["ip", "link", "del", self._ours], check=False, capture_output=True)
            self._made = False

    def _ip(self, *arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True, capture_output=True)
