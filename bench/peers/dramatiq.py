"""Dramatiq on Redis.  It has no bulk enqueue."""

import logging
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from redis import Redis

from bench.drivers.protocol import QUEUE, Driver, main, payload_of

THREADS = 4


class DramatiqDriver(Driver):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        logging.disable(logging.WARNING)
        address = f"unix://{config['redis']}"
        self._redis = Redis(unix_socket_path=config["redis"])
        self._broker = RedisBroker(url=address)
        dramatiq.set_broker(self._broker)

        @dramatiq.actor(queue_name=QUEUE, broker=self._broker)
        def send(n: int, to: str, text: str) -> None:
            self.tally.ran(n)

        self._send = send

    async def setup(self) -> None:
        """Nothing to make."""

    async def open(self, clients: int) -> None:
        """Its pool opens by itself."""

    async def enqueue(self, number: int) -> None:
        self._send.send(**payload_of(number))

    async def enqueue_many(self, numbers: range, options: dict[str, Any]) -> None:
        for number in numbers:
            self._send.send(**payload_of(number))

    async def start_worker(self, options: dict[str, Any]) -> None:
        self._worker = dramatiq.Worker(self._broker, worker_threads=THREADS)
        self._worker.start()

    async def stop_worker(self) -> None:
        self._worker.stop()

    async def left(self) -> int:
        """Each message is kept in one hash until it is acknowledged."""
        return int(self._redis.hlen(f"dramatiq:{QUEUE}.msgs"))


if __name__ == "__main__":
    main(DramatiqDriver)
