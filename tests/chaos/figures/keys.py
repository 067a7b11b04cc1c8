"""One idempotency key, twenty producers at the same moment, some of whom take it back."""

import random
import threading
from collections import Counter
from typing import Any

import psycopg

from tests.chaos.figures.table import Figure, Setting
from tests.chaos.site import Site

__all__ = ["keys"]

PRODUCERS = 20
ROLLED_BACK = 0.1
_ENQUEUE = b"select created from windlass.enqueue_job(%s, 'k', %s, p_key => %s)"
_COUNT = """
select count(*), count(distinct j.idempotency_key)
from windlass_data.job as j where j.idempotency_key is not null
"""


class Producer(threading.Thread):
    """Asks for a job under each key, in step with the others; a tenth of what it asked for it rolls back."""

    def __init__(self, site: Site, number: int, count: int, start: threading.Barrier) -> None:
        super().__init__(daemon=True)
        self._site = site
        self._random = random.Random(number)
        self._count = count
        self._start_line = start
        self.created = 0
        self.codes: Counter[str] = Counter()

    def run(self) -> None:
        with self._site.primary.connect("windlass_app") as connection:
            for number in range(self._count):
                self._start_line.wait(60)
                try:
                    with connection.transaction() as transaction:
                        row = connection.execute(
                            _ENQUEUE, [self._site.tenants[0], "{}", str(number)]
                        ).fetchone()
                        rolled_back = self._random.random() < ROLLED_BACK
                        if rolled_back:
                            raise psycopg.Rollback(transaction)
                    self.created += row is not None and row[0] and not rolled_back
                except psycopg.Error as error:
                    self.codes[str(error.sqlstate)] += 1


def keys(setting: Setting) -> list[Figure]:
    """1,000 keys and 20 producers make 1,000 jobs; the same key with another payload is always refused."""
    count = setting.count(1_000, least=10)
    with Site(setting.directory, workers=0, major=setting.major, settings={"fsync": "off"}) as site:
        start = threading.Barrier(PRODUCERS)
        producers = [Producer(site, number, count, start) for number in range(PRODUCERS)]
        for producer in producers:
            producer.start()
        for producer in producers:
            producer.join()
        (jobs, distinct) = site.primary.ask(_COUNT)[0]
        refused = _refused(site, count)
    created = sum(producer.created for producer in producers)
    codes = sum((producer.codes for producer in producers), Counter[str]())
    exact = jobs == distinct == created == count and not codes
    seen = (
        f"{jobs:,} jobs for {distinct:,} keys, {created:,} told that theirs is new, errors {dict(codes) or 0}"
    )
    conflict = f"{refused:,} of {count:,}"
    return [
        Figure(f"{PRODUCERS} producers at once, one key", f"{count:,} jobs, 0 errors", seen, exact),
        Figure("the same key, another payload", "refused, always", conflict, refused == count),
    ]


def _refused(site: Site, count: int) -> int:
    """How many of the keys are refused to whoever uses them for something else."""
    refused = 0
    with site.primary.connect("windlass_app") as connection:
        for number in range(count):
            try:
                said: list[Any] = [site.tenants[0], '{"other": true}', str(number)]
                connection.execute(_ENQUEUE, said)
            except psycopg.Error as error:
                refused += error.sqlstate == "WL002"
    return refused
