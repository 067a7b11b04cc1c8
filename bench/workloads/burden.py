"""What a queue carries along: a million jobs that are not due, and a history of ten million finished ones."""

from collections.abc import Awaitable, Callable
from typing import Any

from bench.trial import Outcome, Trial
from bench.workloads.drain import drain
from bench.workloads.enqueue import in_bulk, one_by_one
from bench.workloads.pickup import idle_pickup
from bench.workloads.workload import Workload

__all__ = ["WORKLOADS", "build_history"]

DAYS_OF_HISTORY = 7
SLICE = 500_000

# What is copied from a job that really ran: all but the ids, and the times, which go with the ids.  Finished
# all in one instant, they would be one window to whoever walks the attempts by the time of their end.
COLUMNS = """
select string_agg(
  case when attname = $2 then 'g.id'
       when attname in ('created_at', 'started_at', 'finished_at') then 'g.at'
       else 't.' || quote_ident(attname) end, ', ' order by attnum)
from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''
"""
NAMES = """
select string_agg(quote_ident(attname), ', ' order by attnum)
from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''
"""
# Time-ordered ids, spread over the days before now, the same each time that it is asked.
IDS = """
select (lpad(to_hex(m.ms), 12, '0') || '7' || substr(md5(m.n::text), 1, 3) || '8'
        || substr(md5(m.n::text), 4, 15))::uuid as id, to_timestamp(m.ms / 1000.0) as at
from (select n, (extract(epoch from $1::timestamptz) * 1000)::bigint - n * $4::bigint / $5::bigint as ms
      from generate_series($2::bigint, $3::bigint) as n) as m
"""
# Where jobs have ended for days, all but the last minute of them is in the audit's chain.
SEALED = "update windlass_data.sealing set sealed_to = $1"


async def not_due(trial: Trial) -> Outcome:
    """Drain 100,000 jobs beside a million of the highest priority that are scheduled for next week."""
    waiting, count = trial.size(1_000_000, least=2_000), trial.size(100_000, least=1_000)
    trial.say(f"scheduling {waiting:,} jobs for next week")
    producer = await trial.producer()
    await producer.call("other", name="schedule", first=count, count=waiting, days=7)
    await trial.preload(count)
    return await drain(trial, count)


async def history(trial: Trial) -> Outcome:
    """W4, W1, W2 and W3, one after the other, in a database that keeps ten million finished jobs."""
    finished, count = trial.size(trial.options["history"], least=1_000), trial.size(100_000, least=1_000)
    await build_history(trial, finished)
    kept = await trial.done()
    await trial.settle()
    pickup = await idle_pickup(trial, kept=kept)
    single = await _enqueued(trial, one_by_one)
    bulk = await _enqueued(trial, in_bulk)
    done = await trial.done()
    await trial.preload(count)
    outcome = await drain(trial, count, kept=done)
    figures = {
        **outcome.figures,
        "w1_rate": single.figures["rate"],
        "w2_rate": bulk.figures["rate"],
        "w4_p50": pickup.figures["p50"],
        "w4_p99": pickup.figures["p99"],
        "finished_before": float(kept),
    }
    return Outcome(figures, outcome.costs, notes=outcome.notes)


async def _enqueued(trial: Trial, workload: Callable[[Trial], Awaitable[Outcome]]) -> Outcome:
    """What a workload that only enqueues finds; its jobs are done before the next one begins."""
    before, done = await trial.entered(), await trial.done()
    outcome = await workload(trial)
    await drain(trial, await trial.entered() - before, kept=done)
    return outcome


async def build_history(trial: Trial, finished: int) -> None:
    """Run one job, and put copies of its rows in place for the rest."""
    producer, worker = await trial.producer(), await trial.driver()
    await producer.call("bulk", first=0, count=1)
    await worker.call("work", timeout=120, capacity=1)
    await trial.drained([worker], 1)
    await trial.stop([worker])
    for day in range(1, DAYS_OF_HISTORY + 1):
        await trial.connection.execute(f"select windlass_data.add_day(current_date - {day})")
    now = await trial.connection.fetchval("select now()")
    for start in range(1, finished + 1, SLICE):
        end = min(start + SLICE - 1, finished)
        trial.say(f"writing {end:,} of {finished:,} finished jobs")
        for table, column in (("job", "id"), ("attempt", "job_id")):
            await _copy_rows(trial, table, column, (now, start, end, _spread_ms(), finished))
    await trial.connection.execute(SEALED, now)
    await producer.close()
    await worker.close()


async def _copy_rows(trial: Trial, table: str, column: str, values: tuple[Any, ...]) -> None:
    name = f"windlass_data.{table}"
    names = await trial.connection.fetchval(NAMES, name)
    chosen = await trial.connection.fetchval(COLUMNS, name, column)
    await trial.connection.execute(
        f"insert into {name} ({names}) select {chosen} from ({IDS}) as g"
        f" cross join (select * from {name} order by {column} desc limit 1) as t",
        *values,
        timeout=3600,
    )


def _spread_ms() -> int:
    return DAYS_OF_HISTORY * 86_400_000


WORKLOADS = (
    Workload(
        "scheduled",
        "drain 100,000 jobs beside 1,000,000 scheduled for next week",
        "rate",
        "jobs/s",
        not_due,
        frozenset({"schedule"}),
        core=False,
    ),
    Workload(
        "history",
        "drain 100,000 jobs beside 10,000,000 finished ones; there too: W1, W2 and W4",
        "rate",
        "jobs/s",
        history,
        frozenset({"history"}),
        core=False,
        also=("w1_rate", "w2_rate", "w4_p50", "w4_p99", "finished_before"),
    ),
)
