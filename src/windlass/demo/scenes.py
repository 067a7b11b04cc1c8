"""The scenes of the demo: each enqueues, does something unkind, and waits for what follows."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from uuid import UUID

from windlass.demo.jobs import (
    build_report,
    charge_card,
    import_ledger,
    open_corrupt_scan,
    resize_photo,
    send_receipt,
)
from windlass.demo.stage import TENANTS, Stage
from windlass.demo.tally import Tally
from windlass.demo.workers import LEASE_SECONDS
from windlass.errors import IdempotencyConflict
from windlass.model import Job, JobState, NewJob, Node

__all__ = ["SCENES"]

_WORK = {"anchor-bank": 180, "beacon-books": 50, "coral-clinic": 50}


async def open_for_business(stage: Stage) -> None:
    stage.view.scene(
        "Three workers, three tenants",
        "Each worker is an operating system process; each tenant is walled off by the database itself.",
    )
    for slug, name in TENANTS.items():
        await stage.client.create_tenant(slug, name)
    tally = await stage.until_ready()
    stage.view.say(", ".join(f"{node.name} is pid {node.pid}" for node in tally.nodes))


async def a_days_work(stage: Stage) -> None:
    stage.view.scene(
        "A day's work, and one noisy customer",
        "Anchor Bank comes first, with most of the jobs. Tenants take turns: nobody waits for the bank.",
    )
    ids: list[UUID] = []
    for tenant, count in _WORK.items():
        ids += await stage.enqueue(tenant, _days_work(count))
        stage.view.say(f"{TENANTS[tenant]} enqueued {count} jobs in one transaction")
    tally = await stage.until_ended(ids)
    _say_who_waited(stage, tally)
    stage.record.dead = [job.id for job in tally.all() if job.state is JobState.DEAD]
    retried = sum(job.state is JobState.SUCCEEDED and job.attempt > 1 for job in tally.all())
    stage.view.say(f"{retried} jobs failed at first and were retried until they succeeded")
    for example in tally.get(stage.record.dead[:1]):
        stage.view.say(f"{len(stage.record.dead)} ended dead, their attempts used up: {_why(example)}")


def _days_work(count: int) -> Iterator[NewJob]:
    for number in range(count):
        if number % 12 == 5:
            yield import_ledger.new(number, f"{number},50")
        elif number % 5 == 1:
            yield charge_card.new(order=number, cents=100 + number, refusals=number % 3)
        elif number % 5 == 3:
            yield resize_photo.new(photo=number)
        else:
            yield send_receipt.new(order=number)


def _say_who_waited(stage: Stage, tally: Tally) -> None:
    """By the database's clock, from each tenant's first enqueue to its last receipt."""
    for tenant, jobs in tally.jobs.items():
        done = max(job.finished_at for job in jobs if job.finished_at is not None)
        seconds = (done - min(job.created_at for job in jobs)).total_seconds()
        stage.view.say(f"{TENANTS[tenant]}: {len(jobs)} jobs in {seconds:.1f} s")


async def the_same_again(stage: Stage) -> None:
    stage.view.scene(
        "Asked twice, done once",
        "A browser that sends its form twice must not charge a card twice. And a job may be called off.",
    )
    tenant, record = "beacon-books", stage.record
    charge = charge_card.options(key="order-7001")
    first, *_ = await stage.enqueue(tenant, [charge.new(order=7001, cents=4200)])
    again = await stage.client.enqueue(charge.new(order=7001, cents=4200), tenant=tenant)
    record.duplicates.append((again.id, first))
    stage.view.say("the same key again: no second job" if not again.created else "a second job was made!")
    try:
        await stage.client.enqueue(charge.new(order=7001, cents=9900), tenant=tenant)
    except IdempotencyConflict:
        record.conflicts += 1
        stage.view.say("the same key for another amount: refused as idempotency_conflict")
    (later,) = await stage.enqueue(tenant, [send_receipt.options(delay=timedelta(hours=1)).new(order=7002)])
    await stage.client.cancel_job(
        later, tenant=tenant, reason="the customer changed her mind", actor="support"
    )
    record.canceled = later
    stage.view.say("a receipt due in an hour was canceled")
    await stage.until_ended([first, later])


async def kill_a_worker(stage: Stage) -> None:
    stage.view.scene(
        "kill -9, in the middle of the work",
        f"The dead say nothing. But their leases run out after {LEASE_SECONDS:g} s, and others take over.",
    )
    ids: list[UUID] = []
    for tenant in TENANTS:
        ids += await stage.enqueue(tenant, (build_report.new(report=number) for number in range(4)))
    tally = await stage.until("a worker holds leases", lambda tally: _busiest(tally, ids) is not None)
    victim = _busiest(tally, ids) or tally.nodes[0]
    await stage.workers.kill(victim.pid)
    # Read after its death: what the database shows as running there is held by nobody but the dead.
    held = [job.id for job in _running_on(victim, await stage.look(), ids)]
    stage.record.held = dict.fromkeys(held, victim.id)
    stage.view.say(f"{victim.name} (pid {victim.pid}) is dead, and {len(held)} jobs are leased to it")
    await stage.until_ended(ids)
    stage.view.say(f"all {len(ids)} reports are built, also those that it had begun")


def _running_on(node: Node, tally: Tally, ids: Iterable[UUID]) -> list[Job]:
    return [job for job in tally.get(ids) if job.state is JobState.RUNNING and job.node_id == node.id]


def _busiest(tally: Tally, ids: list[UUID]) -> Node | None:
    """A node that runs several of these jobs just now."""
    best = max(tally.nodes, key=lambda node: len(_running_on(node, tally, ids)), default=None)
    return best if best is not None and len(_running_on(best, tally, ids)) >= 2 else None


async def swallow_poison(stage: Stage) -> None:
    stage.view.scene(
        "A poison job",
        "It kills whoever runs it. A crash counts as an attempt, so it does not go on for ever.",
    )
    (poison,) = await stage.enqueue("coral-clinic", [open_corrupt_scan.new(scan=13)])
    stage.record.poison = poison
    bystanders: list[UUID] = []
    for tenant in TENANTS:
        bystanders += await stage.enqueue(tenant, (send_receipt.new(order=number) for number in range(20)))
    tally = await stage.until_ended([poison])
    job = tally.get([poison])[0]
    stage.view.say(f"{job.kind} is {job.state} after {job.counted} attempts: {_why(job)}")
    if job.attempt > job.counted:
        stage.view.say("one more worker died before it had confirmed that it began: that does not count")
    await stage.until_ended(bystanders)
    stage.view.say(f"the {len(bystanders)} jobs around it have all ended well")


async def close_a_gate(stage: Stage) -> None:
    stage.view.scene(
        "A gate",
        "The mail provider is down: hold one kind of job, everywhere and from this moment on, and lose none.",
    )
    client, record = stage.client, stage.record
    gate = await client.set_gate(
        kind=send_receipt.definition.kind, reason="mail provider is down", actor="ops"
    )
    photos: list[UUID] = []
    for tenant in TENANTS:
        record.gated += await stage.enqueue(tenant, (send_receipt.new(order=number) for number in range(8)))
        photos += await stage.enqueue(tenant, (resize_photo.new(photo=number) for number in range(8)))
    tally = await stage.until_ended(photos)
    record.past_the_gate = [job.id for job in tally.get(record.gated) if job.attempt > 0]
    waiting = len(record.gated) - len(record.past_the_gate)
    stage.view.say(f"{len(photos)} photos are done, {waiting} receipts wait at the gate")
    await client.clear_gate(gate, reason="mail provider is back", actor="ops")
    await stage.until_ended(record.gated)
    stage.view.say("the gate is open, and all receipts are sent")


async def redrive_the_dead(stage: Stage) -> None:
    stage.view.scene(
        "The fix, and the dead come back",
        "Dead jobs are kept, with their reason. Deploy a release that can run them, then redrive them.",
    )
    kinds, client = [import_ledger.definition.kind], stage.client
    would = sum([len(await client.redrive_jobs(kinds=kinds, tenant=t, dry_run=True)) for t in TENANTS])
    stage.view.say(f"dry run: {would} jobs of {kinds[0]} would be redriven")
    await stage.during("release 2 is deployed", stage.workers.deploy(2))
    await stage.until_ready()
    stage.view.say("release 2 is deployed, one worker after the other; each finished what it had begun")
    for tenant in TENANTS:
        await client.redrive_jobs(kinds=kinds, tenant=tenant, reason="decimal comma fixed", actor="ops")
    tally = await stage.until_ended(stage.record.dead)
    alive = sum(job.state is JobState.SUCCEEDED for job in tally.get(stage.record.dead))
    stage.view.say(f"{alive} of {len(stage.record.dead)} redriven jobs have succeeded")


def _why(job: Job) -> str:
    error = job.error or {}
    return f"{error.get('type')}: {error.get('message')}"


SCENES = (
    open_for_business,
    a_days_work,
    the_same_again,
    kill_a_worker,
    swallow_poison,
    close_a_gate,
    redrive_the_dead,
)
