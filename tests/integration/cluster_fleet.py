"""Nodes of one application in this process, and a kind of cluster job that tells what happened to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from tests.support import Database
from windlass import JobContext, LeaderContext, Windlass
from windlass.app import ClusterFunction
from windlass.cluster import Member
from windlass.model.cluster import ClusterJob
from windlass.node import Node
from windlass.settings import Settings


class Fleet:
    """Nodes of one application in this process."""

    def __init__(self, db: Database, app: Windlass) -> None:
        self.db = db
        self.app = app
        self.nodes: dict[str, Node] = {}
        self._runs: dict[str, asyncio.Task[None]] = {}

    async def start(self, name: str, **settings: Any) -> Node:
        told = {"cluster_lease_seconds": 2.0, "concurrency": 4, "grace_seconds": 5.0, **settings}
        node = Node(
            Settings.from_env({}, database_url=self.db.url(), node_name=name, **told),
            self.app.registry,
            cluster=self.app.cluster,
        )
        ready = asyncio.Event()
        self.nodes[name] = node
        self._runs[name] = run = asyncio.create_task(node.run(lambda _: ready.set()))
        run.add_done_callback(lambda _: ready.set())
        await ready.wait()
        if run.done():
            await self._runs.pop(name)
        await self.member(name).turned(lambda standing: standing.leader_id is not None)
        return node

    def member(self, name: str) -> Member:
        member = self.nodes[name].member
        assert member is not None
        return member

    async def stop(self, name: str) -> None:
        self.nodes[name].request_stop()
        await self.ended(name)

    async def ended(self, name: str) -> None:
        await self._runs.pop(name)

    async def stop_all(self) -> None:
        for name in tuple(self._runs):
            await self.stop(name)

    async def get(self, job_id: UUID) -> ClusterJob:
        return await self.app.client.get_cluster_job(job_id)


@asynccontextmanager
async def fleet(db: Database, app: Windlass, *names: str) -> AsyncIterator[Fleet]:
    fleet = Fleet(db, app)
    try:
        for name in names:
            await fleet.start(name)
        yield fleet
    finally:
        await fleet.stop_all()


def declare(app: Windlass, **options: Any) -> ClusterFunction[Any, Any, Any]:
    """A kind whose parts return their node and whose leader adds them up."""

    @app.cluster_job(**options)
    async def compact(ctx: JobContext, table: str, fails_on: str = "") -> str:
        if ctx.worker_id == fails_on:
            raise RuntimeError(f"no room on {ctx.worker_id}")
        return f"{ctx.worker_id}:{table}"

    @compact.leader()
    async def publish(ctx: LeaderContext, table: str, fails_on: str = "") -> dict[str, Any]:
        return {"term": ctx.term, "table": table, "results": ctx.results, "warning": ctx.warning}

    return compact
