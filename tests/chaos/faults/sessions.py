"""The server ends sessions, or lets nobody in."""

import psycopg

from tests.chaos.faults.base import Fault

__all__ = ["Limit", "Sessions"]

_END = (
    "select count(*) filter (where pg_terminate_backend(pid)) from pg_stat_activity"
    " where usename = 'windlass_app'"
)


class Sessions(Fault):
    """Every session of the product is ended by an administrator."""

    name = "sessions"
    _ended = 0

    def start(self) -> None:
        self._ended = self.site.primary.ask(_END)[0][0]

    def describe(self) -> str:
        return f"pg_terminate_backend of {self._ended} sessions"


class Limit(Fault):
    """The product's login may have two sessions, and everybody must come in anew: too many connections."""

    name = "limit"
    leases = 1.0

    def start(self) -> None:
        self.site.primary.ask("alter role windlass_app connection limit 2")
        self.site.primary.ask(_END)

    def heal(self) -> None:
        try:
            self.site.primary.ask("alter role windlass_app connection limit -1")
        except psycopg.OperationalError:
            self.site.note("trouble", text="the connection limit could not be lifted yet")
            raise

    def describe(self) -> str:
        return "connection limit 2 for all workers and producers"
