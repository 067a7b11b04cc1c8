"""The floor: the same work as bare SQL over asyncpg, with nothing that a product needs.

Jobs are rows; a claim marks 500 of them by an UPDATE, a completion deletes them; the next claim runs beside
it on a second connection.  Where handlers wait for something, `Flow` keeps them all busy.  `low_water` makes
the claim skip what it has passed, and look again from the start now and then.  `notify` sends a notice with
each single enqueue.
"""

import asyncio
import json
import time
from contextlib import suppress
from typing import Any

import asyncpg

from bench.drivers.flow import Flow
from bench.drivers.protocol import Driver, main, payload_of
from windlass.worker.own_process import run_as_worker

BATCH = 500
POLL_SECONDS = 0.5
RESCAN_SECONDS = 5.0

TABLES = """
create table job (
  id bigint generated always as identity primary key,
  state smallint not null default 0,
  lease_until timestamptz,
  payload jsonb not null
);
create index job_ready on job (id) where state = 0;
"""
CLAIM = """
with c as (select id from job where state = 0 and id > $2 order by id limit $1 for update skip locked)
update job set state = 1, lease_until = clock_timestamp() + interval '30 s' from c where job.id = c.id
returning job.id, job.payload
"""
INSERT = "insert into job (payload) values ($1)"
INSERT_AND_NOTIFY = "with i as (insert into job (payload) values ($1)) select pg_notify('job', '')"
DELETE = "delete from job where id = any($1::bigint[])"


class Floor(Driver):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self._notify = bool(config.get("notify"))
        self._low_water = bool(config.get("low_water"))
        self._io_seconds = 0.0
        self._concurrency = BATCH
        self._woken = asyncio.Event()
        self._stopping = False

    async def setup(self) -> None:
        connection = await asyncpg.connect(self.url)
        await connection.execute(TABLES)
        await connection.close()

    async def open(self, clients: int) -> None:
        self._pool = await asyncpg.create_pool(self.url, min_size=clients, max_size=clients)

    async def notify_single(self) -> None:
        self._notify = True

    async def enqueue(self, number: int) -> None:
        text = json.dumps(payload_of(number))
        await self._pool.execute(INSERT_AND_NOTIFY if self._notify else INSERT, text)

    async def enqueue_many(self, numbers: range, options: dict[str, Any]) -> None:
        rows = [(json.dumps(payload_of(number)),) for number in numbers]
        async with self._pool.acquire() as connection:
            await connection.copy_records_to_table("job", records=rows, columns=["payload"])

    async def start_worker(self, options: dict[str, Any]) -> None:
        self._io_seconds = options.get("io_seconds", 0.0)
        self._concurrency = options.get("concurrency") or BATCH
        self._claimer, self._reporter, self._ear = [await asyncpg.connect(self.url) for _ in range(3)]
        await self._ear.add_listener("job", lambda *_: self._woken.set())
        self._flow = self._make_flow() if self._io_seconds else None
        self._worker = asyncio.create_task(self._flow.run() if self._flow else self._work())

    async def stop_worker(self) -> None:
        self._stopping = True
        if self._flow is not None:
            self._flow.stop()
        self._woken.set()
        await self._worker

    async def _work(self) -> None:
        mark, rescan_at = 0, time.monotonic() + RESCAN_SECONDS
        reporting: asyncio.Task[Any] | None = None
        while not self._stopping:
            self._woken.clear()
            rows = await self._claimer.fetch(CLAIM, BATCH, mark)
            if self._low_water:
                mark = max((row[0] for row in rows), default=mark)
                if time.monotonic() > rescan_at or not rows:
                    mark, rescan_at = 0, time.monotonic() + RESCAN_SECONDS
            if rows:
                await self._run(rows)
            if reporting is not None:
                await reporting
                reporting = None
            if rows:
                ids = [row[0] for row in rows]
                reporting = asyncio.create_task(self._reporter.execute(DELETE, ids))
            else:
                await self._nap()
        if reporting is not None:
            await reporting

    async def _run(self, rows: list[Any]) -> None:
        for row in rows:
            await self._handle(json.loads(row[1]))

    def _make_flow(self) -> Flow:
        async def claim() -> list[Any]:
            self._woken.clear()
            rows: list[Any] = await self._claimer.fetch(CLAIM, BATCH, 0)
            return rows

        async def handle(row: Any) -> None:
            await self._handle(json.loads(row[1]))
            await asyncio.sleep(self._io_seconds)

        async def delete(ids: list[Any]) -> None:
            await self._reporter.execute(DELETE, ids)

        return Flow(
            claim=claim,
            handle=handle,
            delete=delete,
            nap=self._nap,
            concurrency=self._concurrency,
            least=BATCH,
        )

    async def _nap(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), POLL_SECONDS)

    async def _handle(self, payload: dict[str, Any]) -> None:
        self.tally.ran(payload["n"])


if __name__ == "__main__":
    main(Floor, run_as_worker)
