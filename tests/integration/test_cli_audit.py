"""`windlass audit`: who did what, and a check that finds what was done behind its back."""

from pathlib import Path

import pytest

from tests.integration.command import Command
from tests.sql.steps import Session
from tests.support import Clock, Database
from windlass.client import AsyncClient
from windlass.cluster import Sealer
from windlass.db.link import AsyncLink
from windlass.settings import Settings


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    return Command(tmp_path, db.url())


@pytest.fixture
def job_id(windlass: Command) -> str:
    """A job that somebody canceled, between two gates."""
    windlass.here("gates", "set", "--queue", "mail", "--tenant", "default", "--reason", "relay is down").ok()
    job_id = windlass.here("enqueue", "greet").ok().out.strip()
    windlass.here("jobs", "cancel", job_id, "--reason", "sent twice").ok()
    windlass.here("gates", "clear", "--queue", "mail", "--tenant", "default").ok()
    windlass.here("queues", "set", "mail", "--mode", "strict").ok()
    return job_id


def tamper(db: Database, query: str) -> None:
    db.execute(f"set session_replication_role = replica; {query}", role="superuser")


def test_list(windlass: Command, job_id: str) -> None:
    page = windlass.here("audit", "--json", "--limit", "3").ok().json
    assert [item["action"] for item in page["items"]] == ["gate.clear", "job.cancel", "job.canceled"]
    rest = windlass.here("audit", "list", "--json", "--cursor", page["next_cursor"]).ok().json
    assert [item["action"] for item in rest["items"]] == ["gate.set"]
    assert (rest["next_cursor"], rest["items"][0]["place"], rest["items"][0]["login"]) == (
        None,
        1,
        "windlass_app",
    )
    me = page["items"][0]["actor"]
    for words, actions in (
        (("--actor", me, "--action", "gate.set,gate.clear"), ["gate.clear", "gate.set"]),
        (("--actor", "nobody"), []),
        (("--job", job_id), ["job.cancel", "job.canceled"]),
        (("--since", "1h", "--action", "job.cancel"), ["job.cancel"]),
        (("--until", "1h"), []),
        (("--installation",), ["queue.set"]),
    ):
        found = windlass.here("audit", "list", "--json", *words).ok().json["items"]
        assert [item["action"] for item in found] == actions, words
    header, *lines = windlass.here("audit", "list", "--action", "job.cancel").ok().out.splitlines()
    assert header.split() == ["TIME", "ACTION", "BY", "JOB", "REASON", "PLACE"]
    assert [word in lines[0] for word in ("job.cancel", job_id, "sent twice")] == [True] * 3


def test_a_late_end_stands_where_its_job_was_enqueued_as_the_help_says(
    windlass: Command, db: Database, clock: Clock
) -> None:
    jobs = Session(db.connection())
    late = jobs.enqueue("greet")
    clock.advance(3600)
    windlass.here("gates", "set", "--queue", "mail", "--tenant", "default").ok()
    clock.advance(3600)
    jobs.complete(jobs.claim_one())

    def listed(*words: str) -> list[tuple[str, str | None]]:
        items = windlass.here("audit", "list", "--json", *words).ok().json["items"]
        return [(item["action"], item["job_id"]) for item in items]

    assert listed() == [("gate.set", None), ("job.succeeded", str(late))]
    assert listed("--since", "10m") == [("job.succeeded", str(late))]
    told = " ".join(windlass("audit", "list", "--help").ok().out.split())
    assert "newest first" not in told
    assert "Any other end of a job stands where the job was enqueued" in told
    assert "--since 10m shows all that happened lately, wherever it stands" in told


def test_verify(windlass: Command, db: Database, job_id: str) -> None:
    windlass.here("tenants", "create", "acme").ok()
    lines = windlass("audit", "verify", "--all").ok().out.splitlines()
    assert [line.split(";")[0] for line in lines] == [
        "ok      the installation: 1 event sealed",
        "ok      acme: 1 event sealed",
        "ok      default: 3 events sealed",
    ]
    (found,) = windlass.here("audit", "verify", "--json").ok().json["items"]
    assert (found["audit"], found["sound"], found["sealed"], found["unsealed"]) == ("default", True, 3, 0)
    windlass.here("audit", "verify", "--known", found["head"]).ok()

    tamper(db, "update windlass_data.event set reason = 'all is well' where reason = 'sent twice'")
    broken = windlass.here("audit", "verify", "--tenant", "default")
    assert broken.code == 12
    assert broken.out.startswith(
        "BROKEN  default: the event at place 2 was altered: it is not what was sealed"
    )
    answer = windlass.here("audit", "verify", "--all", "--json")
    assert (answer.code, answer.json["sound"]) == (12, False)
    by_name = {item["audit"]: item for item in answer.json["items"]}
    assert [item["sound"] for item in by_name.values()] == [True, True, False]
    assert (by_name["default"]["fault"]["fault"], by_name["default"]["fault"]["place"]) == (
        "event_altered",
        2,
    )
    known = windlass.here("audit", "verify", "--known", f"1:{'0' * 64}", "--json")
    assert (known.code, known.json["items"][0]["fault"]["fault"]) == (12, "chain_rewritten")


def test_words_that_do_not_go_together(windlass: Command) -> None:
    for words, code in (
        (("verify", "--all", "--installation"), 2),
        (("verify", "--tenant", "default", "--installation"), 2),
        (("verify", "--all", "--known", "1:ab"), 2),
        (("verify", "--known", "nonsense"), 6),
        (("verify", "--tenant", "nobody"), 3),
        (("list", "--installation", "--tenant", "default"), 2),
        (("list", "--job", "x"), 2),
        (("list", "--action", "job.cancel,nope"), 6),
    ):
        assert windlass.here("audit", *words).code == code, words


def test_a_bound_role_checks_its_own(windlass: Command, db: Database, tmp_path: Path, job_id: str) -> None:
    windlass.here("tenants", "create", "acme").ok()
    windlass.here("tenants", "bind", "test_reader", "acme").ok()
    bound = Command(tmp_path, db.url("reader"))
    answer = bound.here("audit", "verify", "--all")
    assert (answer.code, answer.out.split(";")[0]) == (0, "ok      acme: 2 events sealed")
    assert "not open to this role" in answer.err
    assert bound.here("audit", "verify").ok().out.startswith("ok      acme:")
    assert bound.here("audit", "verify", "--installation").code == 5


async def test_what_is_left_over_is_sealed_by_the_node(db: Database) -> None:
    link, steps = AsyncLink(db.url()), list[int]()
    async with AsyncClient(Settings(database_url=db.url())) as client:
        holder = db.connect("superuser", autocommit=False)
        holder.execute("select from windlass_data.chain for update")
        for place in range(5):
            await client.set_gate(tenant="default", queue=f"q{place}")
        report = await client.verify_audit(progress=steps.append, page=2)
        assert (report.sound, report.sealed, report.unsealed) == (True, 0, 5)
        assert steps[-1] == 10, "five events, and five that are noted"
        holder.commit()
        sealer = Sealer(link, batch=2)
        await sealer.start()
        await sealer.ticked()
        await sealer.stop()
        await link.close()
        assert sealer.sealed == 5
        report = await client.verify_audit(page=2)
        assert (report.sealed, report.unsealed, report.sound) == (5, 0, True)


async def test_how_attempts_ended_is_chained_by_the_node(db: Database, clock: Clock) -> None:
    jobs, link = Session(db.connection()), AsyncLink(db.url())
    jobs.enqueue()
    jobs.complete(jobs.claim_one())
    sealer = Sealer(link)
    for _ in range(2):
        clock.advance(120)
        await sealer.tick()
    await link.close()
    assert (sealer.attempts, sealer.sealed) == (1, 1)
    db.execute("update windlass_data.attempt set cost_cents = 5", role="superuser")
    async with AsyncClient(Settings(database_url=db.url())) as client:
        report = await client.verify_audit()
    assert report.fault is not None
    assert (report.fault.fault, report.fault.place) == ("attempt_altered", 1)
