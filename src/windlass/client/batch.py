"""How a large enqueue travels: in parts, each made while the database is busy with the one before."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from windlass.db import rpc_enqueue
from windlass.db.call import Call
from windlass.model import NewJob, check_json, json_array, uuid7_many

__all__ = ["Parts", "Split", "alike_calls", "mixed_calls"]

T = TypeVar("T")

PART_JOBS = 500
PART_BYTES = 32 * 1024 * 1024
# Each part of an `enqueue_many` is a subtransaction; more than 64 in a transaction make all reads slower.
MAX_PARTS = 50


class Parts(Generic[T]):
    """Calls that are made when they are asked for, and kept, so that all can be said again."""

    def __init__(self, calls: Iterable[Call[T]]) -> None:
        self._rest = iter(calls)
        self._made: list[Call[T]] = []

    def __iter__(self) -> Iterator[Call[T]]:
        yield from tuple(self._made)
        for call in self._rest:
            self._made.append(call)
            yield call


@dataclass(frozen=True, slots=True)
class Split:
    """How much goes into one part, and how large a payload may be."""

    jobs: int
    bytes: float
    payload_bytes: int

    @classmethod
    def of(cls, count: int, payload_bytes: int, *, whole: bool) -> "Split":
        """For so many jobs; `whole` is never split: a caller's connection may commit each statement."""
        if whole:
            return cls(count, float("inf"), payload_bytes)
        return cls(max(PART_JOBS, -(-count // MAX_PARTS)), PART_BYTES, payload_bytes)

    def groups(self, texts: Iterable[str]) -> Iterator[list[str]]:
        group: list[str] = []
        size = 0
        for text in texts:
            if group and (len(group) == self.jobs or size + len(text) > self.bytes):
                yield group
                group, size = [], 0
            group.append(text)
            size += len(text)
        yield group

    def arrays(self, values: list[Any]) -> Iterator[tuple[int, str]]:
        """These payloads as JSON arrays, in most cases one, and how many are in each."""
        together = json_array(values, self.payload_bytes)
        if together is not None:
            yield len(values), together
            return
        texts = (check_json(value, self.payload_bytes, "payload") for value in values)
        for group in self.groups(texts):
            yield len(group), f"[{','.join(group)}]"


def alike_calls(
    tenant: UUID,
    pattern: NewJob,
    payloads: Sequence[Any],
    note: Callable[[list[UUID]], None],
    split: Split,
    encode: Callable[[Any], Any] | None = None,
    actor: str | None = None,
) -> Iterator[Call[list[int]]]:
    """Calls for jobs that are like `pattern` but for their payloads, of which `encode` makes JSON values.

    Each part gets its ids as it is made; `note` is told of them, in the order of the payloads.
    """
    shared = pattern.shared_json()
    for start in range(0, len(payloads), split.jobs):
        part = payloads[start : start + split.jobs]
        values = list(part) if encode is None else [encode(payload) for payload in part]
        for count, text in split.arrays(values):
            ids = uuid7_many(count)
            note(ids)
            yield rpc_enqueue.enqueue_many(tenant, shared, text, ids, actor)


def mixed_calls(
    tenant: UUID, jobs: Sequence[NewJob], split: Split, call: Callable[[UUID, Sequence[str]], Call[T]]
) -> Iterator[Call[T]]:
    """Calls for jobs of any kinds and keys; `call` makes one of some of them, written as JSON objects."""
    texts = (job.to_json(job.encode_payload(split.payload_bytes)) for job in jobs)
    for group in split.groups(texts):
        yield call(tenant, group)
