"""`windlass jobs show`: everything about one job."""

from collections.abc import Iterator, Sequence

import typer

from windlass.cli.jobs.listing import job_document
from windlass.cli.jobs.parts import find_cluster_job, print_cluster_job, without_false_time
from windlass.cli.options import AsJson, DatabaseUrl, JobId, TenantName
from windlass.cli.output import Column, print_fields, print_json, print_table, say
from windlass.cli.session import open_client, read_settings
from windlass.cli.text import brief_stamp, pretty, span, stamp
from windlass.cli.unserved import Served, is_served
from windlass.client.core import DEFAULT_TENANT
from windlass.model import Attempt, Job, Transition
from windlass.model.cost import CostEntry


def add_to(group: typer.Typer) -> None:
    group.command("show")(show_job)


def show_job(
    job_id: JobId, tenant: TenantName = None, database_url: DatabaseUrl = None, as_json: AsJson = False
) -> None:
    """Show a job: payload, result, error, its attempts, costs and history.

    Example:
      windlass jobs show "$id"
    """
    named = tenant or read_settings(database_url).named_tenant
    with open_client(database_url, tenant) as client:
        job = client.get_job(job_id)
        attempts = client.list_attempts(job_id)
        costs = client.list_job_costs(job_id) if job.cost_cents else []
        history = client.list_history(job_id)
        cluster = find_cluster_job(client, job)
        served = (
            Served(None) if job.state != "queued" else is_served(client, job.tenant_id, job.queue, job.kind)
        )
    if as_json:
        document: dict[str, object] = {"job": job_document(job), "attempts": attempts, "history": history}
        document |= {"costs": costs, "served": served.yes} | ({} if cluster is None else {"cluster": cluster})
        print_json(document)
        return
    fields = without_false_time(_fields(job, named, attempts), cluster)
    print_fields([*fields, ("waits", served.hint), ("why", _why(job))])
    if cluster is not None:
        print_cluster_job(cluster)
    _print_document("payload", job.payload)
    if job.state == "succeeded" or job.result is not None:
        _print_document("result", job.result)
    if job.error is not None:
        _print_error(job)
    if attempts:
        say()
        _print_attempts(attempts)
    if costs:
        say()
        _print_costs(costs)
    say()
    _print_history(history)


def _why(job: Job) -> str | None:
    return f"windlass jobs explain {job.id}" if job.state == "queued" else None


def _fields(job: Job, tenant: str | None, attempts: Sequence[Attempt]) -> Iterator[tuple[str, object]]:
    called = {attempt.node_id: attempt.node_name for attempt in attempts}
    yield "job", job.id
    yield "kind", job.kind
    yield "state", job.shown_state + (", asked to stop" if job.cancel_requested else "")
    yield "reason", job.ended_reason
    yield "tenant", None if job.tenant_id == DEFAULT_TENANT else tenant
    yield "queue", f"{job.queue}, priority {job.priority}"
    yield "tried", f"{job.counted} of {job.max_attempts} ({job.attempt} claimed)"
    yield "created", stamp(job.created_at)
    yield "run at", stamp(job.run_at)
    yield "started", job.started_at and stamp(job.started_at)
    yield "finished", job.finished_at and stamp(job.finished_at)
    yield "node", _node(called.get(job.node_id), job.node_id)
    yield "lease until", job.lease_expires_at and stamp(job.lease_expires_at)
    yield "timeout", None if job.timeout is None else span(job.timeout)
    yield "key", job.idempotency_key
    yield "trace", job.trace_id
    yield "correlation", job.correlation_id
    yield "cost", f"{job.cost_cents} cents" if job.cost_cents else None


def _print_document(title: str, value: object) -> None:
    say()
    say(title)
    say(_indented(pretty(value)))


def _print_error(job: Job) -> None:
    error = dict(job.error or {})
    trace = error.pop("traceback", None)
    say()
    say("error")
    if "message" in error:
        say(_indented(f"{error.pop('type', 'error')}: {error.pop('message')}"))
    if error:
        say(_indented(pretty(error)))
    if trace:
        say(_indented(str(trace).rstrip()))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _print_attempts(attempts: Sequence[Attempt]) -> None:
    columns: list[Column[Attempt]] = [
        Column("ATTEMPT", lambda attempt: attempt.number, right=True),
        Column("OUTCOME", lambda attempt: attempt.outcome or "running"),
        Column(
            "STARTED",
            lambda attempt: stamp(attempt.started_at),
            brief=lambda attempt: brief_stamp(attempt.started_at),
        ),
        Column("TOOK", _took, right=True),
        Column("NODE", lambda attempt: _node(attempt.node_name, attempt.node_id), wraps=12, spare=1),
        Column("COST", lambda attempt: attempt.cost_cents or None, right=True, spare=2),
        Column("ERROR", lambda attempt: (attempt.error or {}).get("message"), wraps=20),
    ]
    print_table(columns, attempts, empty="no attempts")


def _node(name: str | None, known_as: object) -> object:
    """By its name, and the end of its id: several nodes may have one name."""
    return known_as if name is None else f"{name} ({str(known_as)[-8:]})"


def _took(attempt: Attempt) -> str | None:
    if attempt.finished_at is None:
        return None
    return span((attempt.finished_at - attempt.started_at).total_seconds())


def _print_costs(costs: Sequence[CostEntry]) -> None:
    columns: list[Column[CostEntry]] = [
        Column("AT", lambda entry: stamp(entry.at), brief=lambda entry: brief_stamp(entry.at)),
        Column("ATTEMPT", lambda entry: entry.attempt, right=True),
        Column("CENTS", lambda entry: entry.cents, right=True),
        Column("FOR", lambda entry: entry.what or "reported with the outcome", wraps=20),
    ]
    print_table(columns, costs, empty="no costs")


def _print_history(history: Sequence[Transition]) -> None:
    columns: list[Column[Transition]] = [
        Column("AT", lambda step: stamp(step.at), brief=lambda step: brief_stamp(step.at)),
        Column("WHAT", lambda step: step.what),
        Column("ATTEMPT", lambda step: step.attempt, right=True),
        Column("BY", lambda step: _node(step.node_name, step.actor), wraps=12),
        Column("REASON", lambda step: step.reason, wraps=20),
    ]
    print_table(columns, history, empty="no history")
