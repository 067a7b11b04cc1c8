"""Celery on Redis.  It has no bulk enqueue; its threads run here, where handlers can be counted."""

import logging
import threading
from typing import Any

from celery import Celery
from redis import Redis

from bench.drivers.protocol import QUEUE, Driver, main, payload_of

THREADS = 2


class CeleryDriver(Driver):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        logging.disable(logging.WARNING)
        self._redis = Redis(unix_socket_path=config["redis"])
        self._app = Celery("bench", broker=f"redis+socket://{config['redis']}")
        self._app.conf.update(
            task_ignore_result=True,
            task_acks_late=True,
            task_default_queue=QUEUE,
            worker_prefetch_multiplier=100,
            worker_hijack_root_logger=False,
        )

        @self._app.task(name="bench.send")
        def send(n: int, to: str, text: str) -> None:
            self.tally.ran(n)

        self._send = send

    async def setup(self) -> None:
        """Nothing to make."""

    async def open(self, clients: int) -> None:
        """Its pool opens by itself."""

    async def enqueue(self, number: int) -> None:
        self._send.apply_async(kwargs=payload_of(number))

    async def enqueue_many(self, numbers: range, options: dict[str, Any]) -> None:
        for number in numbers:
            self._send.apply_async(kwargs=payload_of(number))

    async def start_worker(self, options: dict[str, Any]) -> None:
        self._worker = self._app.WorkController(
            pool_cls="threads", concurrency=THREADS, queues=[QUEUE], without_mingle=True, without_gossip=True
        )
        threading.Thread(target=self._worker.start, daemon=True).start()

    async def stop_worker(self) -> None:
        self._worker.stop()

    async def left(self) -> int:
        return int(self._redis.llen(QUEUE)) + int(self._redis.hlen("unacked"))


if __name__ == "__main__":
    main(CeleryDriver)
