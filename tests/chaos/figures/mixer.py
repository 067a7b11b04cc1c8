"""Callers who know a few jobs, nodes and scopes, their own and others', and speak about them by chance."""

import json
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID, uuid4

__all__ = ["BATCH", "PAST_DAYS", "QUEUES", "Call", "Mixer", "World", "name_of"]

BATCH = 50
QUEUES = ["default", "windlass.system", "windlass.cluster"]
PAST_DAYS = range(2, 12)
"""Days, counted back from today, that have tables at first; they are dropped one after the other."""

Call = tuple[str, list[Any]]


def name_of(node: UUID) -> str:
    return f"spare-{node.hex[:6]}"


class World:
    """What the callers have heard of, all of them together; the newest is what they speak about."""

    def __init__(self, tenants: Sequence[UUID]) -> None:
        self.tenants = list(tenants)
        self.jobs: deque[tuple[UUID, UUID, UUID]] = deque(maxlen=400)
        self.actions: deque[tuple[UUID, UUID]] = deque(maxlen=10)
        self.runners: deque[tuple[UUID, UUID]] = deque(maxlen=10)
        self.slices: deque[tuple[Any, ...]] = deque(maxlen=10)
        self.parts: deque[tuple[UUID, UUID]] = deque(maxlen=40)
        self.redrives: deque[tuple[UUID, UUID]] = deque(maxlen=10)
        self.cluster_jobs: deque[tuple[UUID, UUID]] = deque(maxlen=20)
        self.nodes: deque[UUID] = deque((uuid4() for _ in range(4)), maxlen=4)


class Mixer:
    """One caller."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = random.Random(seed)
        self.node = uuid4()

    def learn(self, name: str, said: list[Any], rows: list[Any]) -> None:
        """Remember what the answer was about."""
        if (remember := _LEARN.get(name)) is not None and rows:
            remember(self.world, said, rows)

    # Whom to speak about ------------------------------------------------------------------------------------

    def pick(self, *among: Any) -> Any:
        return self.random.choice(among)

    def tenant(self) -> UUID:
        return self.random.choice(self.world.tenants)

    def one(self, known: "deque[Any]", size: int = 2) -> list[Any]:
        """Something that was heard of; what does not exist where nothing was."""
        heard = list(known)
        return list(self.random.choice(heard)) if heard else [uuid4() for _ in range(size)]

    def job(self) -> list[Any]:
        """Its tenant, its id and its token."""
        return self.one(self.world.jobs, 3)

    def spare(self) -> UUID:
        """A node that belongs to no caller."""
        return self.random.choice(list(self.world.nodes))

    def slice(self) -> list[Any]:
        """What a redrive was told to move next."""
        heard = list(self.world.slices)
        return list(heard[-1]) if heard else [uuid4(), uuid4(), UUID(int=1), UUID(int=2), []]

    def words(self) -> list[list[UUID]]:
        """Tokens and jobs of a few running attempts, some of which ended long ago."""
        some = [self.job() for _ in range(self.random.randint(1, BATCH))]
        return [[token for _, _, token in some], [job for _, job, _ in some]]

    def scope(self) -> list[Any]:
        """A tenant, queue and kind: one of them, two or all three, and now and then none."""
        return [
            self.pick(None, self.tenant()),
            self.pick(None, "default"),
            self.pick(None, f"k{self.random.randint(1, 3)}"),
        ]

    def new_job(self) -> dict[str, Any]:
        job: dict[str, Any] = {"kind": f"k{self.random.randint(1, 3)}", "payload": {}, "max_attempts": 2}
        if self.random.random() < 0.3:
            job |= {"key": str(self.random.randint(1, 300)), "scope": "active"}
        if self.random.random() < 0.3:
            job |= {"concurrency_key": str(self.random.randint(1, 20))}
        if self.random.random() < 0.2:
            job |= {"id": str(self.old_id())}
        return job

    def old_id(self) -> UUID:
        """One that lies in a day of the past."""
        at = int((time.time() - 86_400 * self.pick(*PAST_DAYS)) * 1000)
        chance = self.random.getrandbits(12) << 64 | 2 << 62 | self.random.getrandbits(62)
        return UUID(int=at << 80 | 7 << 76 | chance)

    def new_jobs(self) -> str:
        return json.dumps([self.new_job() for _ in range(self.random.randint(1, BATCH))])


def _learn_claim(world: World, _: list[Any], rows: list[Any]) -> None:
    for row in rows:
        known = (row.tenant_id, row.job_id, row.token)
        world.jobs.append(known)
        if row.kind == "windlass.redrive":
            world.runners.append((row.token, row.job_id))
        elif row.kind == "spread":
            world.actions.append((row.token, row.job_id))


def _learn_slice(world: World, said: list[Any], rows: list[Any]) -> None:
    for row in rows:
        if row.upto is not None:
            world.slices.append((*said, row.after, row.upto, row.jobs))


def _learn_stop(world: World, said: list[Any], _: list[Any]) -> None:
    """One that stopped or drains does not come back; another takes its place."""
    world.nodes.append(uuid4())


_LEARN: dict[str, Callable[[World, list[Any], list[Any]], None]] = {
    "claim_jobs": _learn_claim,
    "tend_redrive": _learn_slice,
    "stop_node": _learn_stop,
    "drain_node": _learn_stop,
    "claim_parts": lambda world, _, rows: world.parts.extend((row.token, row.job_id) for row in rows),
    "create_redrive": lambda world, said, rows: world.redrives.append((said[0], rows[0][0])),
    "create_cluster_job": lambda world, said, rows: world.cluster_jobs.append((said[0], rows[0].job_id)),
}
