"""`windlass jobs cancel` and `windlass jobs reschedule`: change what is to become of one job."""

from datetime import datetime
from typing import Annotated

import typer

from windlass.cli.options import (
    AsJson,
    DatabaseUrl,
    JobId,
    Reason,
    TenantName,
    check_due,
    to_moment,
    to_seconds,
)
from windlass.cli.output import print_json, say
from windlass.cli.session import open_client
from windlass.cli.text import stamp


def add_to(group: typer.Typer) -> None:
    group.command("cancel")(cancel_job)
    group.command("reschedule")(reschedule_job)


def cancel_job(
    job_id: JobId,
    reason: Reason = None,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Cancel a job: a waiting one at once; a running one is asked to stop.

    Example:
      windlass jobs cancel "$id" --reason "sent twice"
    """
    with open_client(database_url, tenant) as client:
        state = client.cancel_job(job_id, reason=reason)
    if as_json:
        print_json({"id": job_id, "state": state})
    elif state == "canceled":
        say("canceled")
    else:
        say("asked to stop: it runs, and its worker hears of it when it next renews the lease")


def reschedule_job(
    job_id: JobId,
    run_at: Annotated[
        datetime | None,
        typer.Option(parser=to_moment, metavar="TIME", help="Not before, as in 2030-01-31T09:00:00Z."),
    ] = None,
    delay: Annotated[
        float | None,
        typer.Option(parser=to_seconds, metavar="SPAN", help="Not before so long from now: 90, 5m, 1h30m."),
    ] = None,
    priority: Annotated[
        int | None, typer.Option(metavar="N", help="Another priority; alone, the time stays as it is.")
    ] = None,
    reason: Reason = None,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Give a waiting job another time or priority; with neither it is due now.

    Examples:
      windlass jobs reschedule "$id"
      windlass jobs reschedule "$id" --priority 10
      windlass jobs reschedule "$id" --delay 2h --priority 10
    """
    check_due(run_at, delay)
    with open_client(database_url, tenant) as client:
        due = client.reschedule_job(job_id, run_at=run_at, delay=delay, priority=priority, reason=reason)
    if as_json:
        print_json({"id": job_id, "run_at": due})
    else:
        say(f"due {stamp(due)}")
