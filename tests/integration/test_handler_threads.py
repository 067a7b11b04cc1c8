"""What a handler hands to other threads is done for its job, where the event loop is ours."""

import os
import subprocess
import sys
from pathlib import Path

from tests.pooler import environment_for
from tests.support import Database

PROGRAM = """
import asyncio, contextvars, os, signal, threading
from windlass import Windlass
from windlass.node import run_node

app = Windlass()


@app.job(queue="aside")
def inner(how: str) -> None: ...


@app.job
async def outer() -> None:
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, inner.enqueue_sync, "executor")
    await asyncio.to_thread(inner.enqueue_sync, "to_thread")
    known = threading.Thread(target=contextvars.copy_context().run, args=(inner.enqueue_sync, "copied"))
    known.start()
    known.join()
    loop.call_later(0.1, os.kill, os.getpid(), signal.SIGTERM)


def begin(node) -> None:
    app.sync.create_tenant("acme")
    outer.options(tenant="acme", trace_id="t-7").enqueue_sync()


run_node(app.settings, app, ready=begin)
"""
SEEN = """
select j.payload ->> 'how' as how, t.slug, j.trace_id
from windlass_data.job as j join windlass_data.tenant as t on t.id = j.tenant_id
where j.payload ? 'how' order by 1"""


def test_other_threads_know_the_job(db: Database, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "WINDLASS_DATABASE_URL": db.url(), **environment_for(db.url())}
    subprocess.run([sys.executable, "program.py"], env=environment, cwd=tmp_path, timeout=120, check=True)
    rows = [tuple(row) for row in db.fetch(SEEN, role="superuser")]
    assert rows == [(how, "acme", "t-7") for how in ("copied", "executor", "to_thread")]
