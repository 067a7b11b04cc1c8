"""Enqueue, wait, cancel, redrive, get, list, history: from any program, with or without a worker in it."""

from windlass.client.core import TenantName
from windlass.client.effects import Operation, Pause, run_effects, run_effects_async
from windlass.client.faces import AsyncClient, SyncClient
from windlass.client.handle import JobHandle, SyncJobHandle
from windlass.client.locate import database_url, programs_dir

__all__ = [
    "AsyncClient",
    "JobHandle",
    "Operation",
    "Pause",
    "SyncClient",
    "SyncJobHandle",
    "TenantName",
    "database_url",
    "programs_dir",
    "run_effects",
    "run_effects_async",
]
