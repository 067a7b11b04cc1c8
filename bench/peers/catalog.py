"""Which peers there are: where they come from, how they are asked, and on which settings they run."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["PEERS", "Peer"]


@dataclass(frozen=True, slots=True)
class Peer:
    """`packages` are installed from PyPI or npm; the first one is the peer and gives the version."""

    name: str
    source: Literal["pypi", "npm"]
    packages: tuple[str, ...]
    driver: str
    left_sql: str
    entered_sql: str
    done_sql: str | None
    settings: str
    acks_trail: bool = False
    on_redis: bool = False
    also: frozenset[str] = frozenset()
    """What its driver can do besides what is common to all."""
    share: float = 1.0
    """Of the larger loads: so much that no run takes minutes.  Rates are compared, not times."""

    @property
    def words(self) -> str:
        """Its settings, and how much less than the others it is given to do."""
        return self.settings + (f"; {self.share:.0%} of the larger loads" if self.share < 1 else "")


# Its view of all jobs takes seconds over a backlog; its own records of completion are quick to add up.
_AWA_DONE = """
select coalesce((select sum(completed_count) from awa.receipt_completion_batches), 0)
     + coalesce((select sum(pruned_completed_count) from awa.queue_terminal_rollups), 0)
"""

_PEERS = (
    Peer(
        "pgqueuer",
        "pypi",
        ("pgqueuer==1.6.0", "asyncpg", "uvloop"),
        "bench.peers.pgqueuer",
        "select count(*) from pgqueuer",
        "select count(*) from pgqueuer",
        None,
        "asyncpg pool, uvloop, batch 500",
    ),
    Peer(
        "procrastinate",
        "pypi",
        ("procrastinate==3.10.0", "psycopg[binary,pool]", "uvloop"),
        "bench.peers.procrastinate",
        "select count(*) from procrastinate_jobs where status in ('todo', 'doing')",
        "select count(*) from procrastinate_jobs",
        "select count(*) from procrastinate_jobs where status = 'succeeded'",
        "psycopg pool of 12, uvloop, concurrency 10",
        share=0.03,
    ),
    Peer(
        "graphile-worker",
        "npm",
        ("graphile-worker@0.18.0",),
        "graphile_worker.mjs",
        "select count(*) from graphile_worker._private_jobs",
        "select count(*) from graphile_worker._private_jobs",
        None,
        "localQueue of 500, completeJobBatchDelay 0, concurrency 24, pool of 10",
        also=frozenset({"retry"}),
    ),
    Peer(
        "pg-boss",
        "npm",
        ("pg-boss@12.35.0",),
        "pg_boss.mjs",
        "select count(*) from pgboss.job where name = 'bench' and state < 'completed'",
        "select count(*) from pgboss.job where name = 'bench'",
        "select count(*) from pgboss.job where name = 'bench' and state = 'completed'",
        "localConcurrency 4, batchSize 500, burstWhenBatchFull, notices on",
    ),
    Peer(
        "awa",
        "pypi",
        ("awa-pg==0.6.9",),
        "bench.peers.awa",
        "select count(*) from awa.jobs where state not in ('completed', 'failed', 'cancelled')",
        "select count(*) from awa.jobs",
        _AWA_DONE,
        "queue storage, enqueue_many_copy, 500 workers, all else as it comes",
        acks_trail=True,
        share=0.1,
    ),
    Peer(
        "celery",
        "pypi",
        ("celery==5.7.0", "kombu[redis]"),
        "bench.peers.celery",
        "",
        "",
        None,
        "Redis with AOF everysec, late acks, 2 threads; no bulk enqueue",
        on_redis=True,
        share=0.03,
    ),
    Peer(
        "dramatiq",
        "pypi",
        ("dramatiq==2.2.1", "redis"),
        "bench.peers.dramatiq",
        "",
        "",
        None,
        "Redis with AOF everysec, 4 threads; no bulk enqueue",
        on_redis=True,
        share=0.05,
    ),
)
PEERS = {peer.name: peer for peer in _PEERS}
