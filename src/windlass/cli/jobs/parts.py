"""What `windlass jobs show` says of a cluster job: its quorum, its parts and its warning."""

from collections.abc import Iterable, Iterator

from windlass.cli.output import Column, print_fields, print_table, say
from windlass.cli.text import brief_stamp, span, stamp
from windlass.client import SyncClient
from windlass.errors import NotFound
from windlass.model import Job
from windlass.model.cluster import CLUSTER_QUEUE, ClusterJob, Part
from windlass.model.names import plural

__all__ = ["find_cluster_job", "print_cluster_job", "without_false_time"]


def find_cluster_job(client: SyncClient, job: Job) -> ClusterJob | None:
    """What the job has beyond any other, if it is a cluster job."""
    if job.queue != CLUSTER_QUEUE:
        return None
    try:
        return client.get_cluster_job(job.id, tenant=job.tenant_id)
    except NotFound:
        return None


def without_false_time(
    fields: Iterable[tuple[str, object]], found: ClusterJob | None
) -> Iterator[tuple[str, object]]:
    """The fields of a job; one that waits for its parts has no time at which it runs."""
    waits = found is not None and found.settled_at is None
    for name, value in fields:
        yield name, "when its parts are done" if waits and name == "run at" else value


def print_cluster_job(found: ClusterJob) -> None:
    say()
    print_fields(_fields(found))
    if found.parts:
        say()
        print_table(_COLUMNS, found.parts, empty="no parts")


def _fields(found: ClusterJob) -> Iterator[tuple[str, object]]:
    if found.parts:
        yield "quorum", f"{found.done} of {plural(len(found.parts), 'part')} done, {found.needed} needed"
        yield "time for it", f"{span(found.quorum_timeout)}, then {found.on_timeout}"
    else:
        yield "quorum", "none: the leader alone acts"
    yield "decided", found.settled_at and f"{found.verdict or 'ended'}, {stamp(found.settled_at)}"
    yield "warning", found.warning
    yield (
        "term",
        f"created in {found.term}"
        + (f", action in {found.action_term}" if found.action_term is not None else ""),
    )


_COLUMNS: list[Column[Part]] = [
    Column("PART", lambda part: part.node_name),
    Column("STATE", lambda part: part.state),
    Column("TRIED", lambda part: part.attempts, right=True),
    Column(
        "STARTED",
        lambda part: part.started_at and stamp(part.started_at),
        brief=lambda part: part.started_at and brief_stamp(part.started_at),
        spare=1,
    ),
    Column(
        "FINISHED",
        lambda part: part.finished_at and stamp(part.finished_at),
        brief=lambda part: part.finished_at and brief_stamp(part.finished_at),
    ),
    Column("ERROR", lambda part: (part.error or {}).get("message"), wraps=20),
]
