"""awa-pg."""

from dataclasses import dataclass
from typing import Any

from awa import AsyncClient

from bench.drivers.protocol import QUEUE, Driver, main, payload_of

WORKERS = 500


@dataclass
class BenchSend:
    """The payload, as awa takes it: a dataclass whose name is the kind."""

    n: int
    to: str
    text: str


class AwaDriver(Driver):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self.url = self.url.replace("@/", "@localhost/", 1)  # it wants a host, though the socket counts

    async def setup(self) -> None:
        client = AsyncClient(self.url)
        await client.migrate()
        await client.install_queue_storage()
        await client.close()

    async def open(self, clients: int) -> None:
        self._client = AsyncClient(self.url, max_connections=max(2, clients))

    async def enqueue(self, number: int) -> None:
        await self._client.insert(BenchSend(**payload_of(number)), queue=QUEUE)

    async def enqueue_many(self, numbers: range, options: dict[str, Any]) -> None:
        jobs = [BenchSend(**payload_of(number)) for number in numbers]
        await self._client.enqueue_many_copy(jobs, queue=QUEUE)

    async def start_worker(self, options: dict[str, Any]) -> None:
        self._client = AsyncClient(self.url, max_connections=20)

        @self._client.task(BenchSend, queue=QUEUE)
        async def handle(job: Any) -> None:
            self.tally.ran(job.args.n)

        await self._client.start([(QUEUE, WORKERS)])

    async def stop_worker(self) -> None:
        await self._client.shutdown()


if __name__ == "__main__":
    main(AwaDriver)
