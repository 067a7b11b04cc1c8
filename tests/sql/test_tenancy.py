"""What one tenant can learn of another, or do to it, through any function there is: nothing."""

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.sql.cluster import KIND, Cluster
from tests.sql.operate import bind, call
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, Word, refused
from tests.sql.surface import NIL, Victim, arguments, fitted, public_functions
from tests.sql.whole import assert_whole, lapse, read_tables
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

SECRET = "secret"


def make_victim(db: Database, clock: Clock) -> Victim:
    """A tenant with a job in every place, each with the word in every field that could show it."""
    superuser = db.connection("superuser")
    superuser.execute(
        "insert into windlass_data.tenant (id, slug, name) values (%s, 'secret', 'Secret Ltd')",
        [OTHER_TENANT],
    )
    them = Session(db.connection(), OTHER_TENANT, uuid4())
    made = []
    for place in ("ready", "scheduled", "running", "succeeded", "dead", "canceled", "expired"):
        job_id = them.enqueue(
            "secret.kind",
            {"secret": place},
            queue="secret-queue" if place != "ready" else "default",
            key=f"secret-{place}",
            correlation_id="secret-correlation",
            trace_id="secret-trace",
            max_attempts=1 if place == "dead" else 5,
            run_at=clock.now().replace(year=2040) if place == "scheduled" else None,
        )
        token = uuid4()
        if place not in ("ready", "scheduled", "canceled"):
            held = them.claim_one(queues=["secret-queue"], lease=86400)
            assert held.job_id == job_id
            token = held.token
            if place == "succeeded":
                them.complete(held, results=["secret"])
            elif place == "dead":
                them.fail(held, errors=[{"type": "Secret", "message": "secret error"}])
        elif place == "canceled":
            them.cancel(job_id, "secret reason", "secret actor")
        made.append((job_id, token))
    lapse(db)
    superuser.execute(
        "update windlass_data.lease set expires_at = '2039-01-01Z' where %s = any (job_ids)", [made[2][0]]
    )
    superuser.execute("update windlass_data.scheduled set run_at = '2000-01-01Z'")
    gate = db.fetch_value(
        "insert into windlass_data.gate (tenant_id, queue, reason, actor) "
        "values (%s, 'secret-closed', 'secret reason', 'secret actor') returning id",
        OTHER_TENANT,
        role="superuser",
    )
    superuser.execute("insert into windlass_data.role_tenant values ('test_reader', %s)", [OTHER_TENANT])
    ids, tokens = zip(*made, strict=True)
    return Victim(OTHER_TENANT, ids, tokens, gate, SECRET)


@pytest.fixture
def victim(db: Database, clock: Clock) -> Victim:
    return make_victim(db, clock)


@pytest.fixture
def bound(db: Database, victim: Victim) -> Session:
    """The product's own login, which may call everything, bound to the default tenant."""
    db.execute(
        "insert into windlass_data.role_tenant values ('windlass_app', %s)", DEFAULT_TENANT, role="superuser"
    )
    return Session(db.connection())


def theirs(db: Database, victim: Victim) -> dict[str, list[str]]:
    return {
        table: [row for row in rows if str(victim.tenant) in row or (table == "queue" and SECRET in row)]
        for table, rows in read_tables(db).items()
    }


def without(text: str, given: dict[str, Any]) -> str:
    """What an answer says beyond the caller's own words."""
    for value in given.values():
        for word in value if isinstance(value, list) else [value]:
            text = text.replace(str(word), "…")
    return text.lower()


TENANTS: list[UUID | None] = [DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, NIL, None]


def answers(db: Database, session: Session, victim: Victim) -> Iterator[tuple[str, dict[str, Any], str]]:
    """What every function says to every way of reaching for the victim."""
    for function in public_functions(db):
        for guess in victim.guesses():
            for tenant in TENANTS if function.takes("p_tenant") else [None]:
                given = fitted(function, {**guess, "p_tenant": tenant})
                yield function.name, given, function.call(session.conn, **given)


def test_a_bound_role_learns_nothing_and_changes_nothing(
    db: Database, bound: Session, victim: Victim, subtests: pytest.Subtests
) -> None:
    before = theirs(db, victim)
    assert sum(map(len, before.values())) > 20
    told: dict[str, str] = {}
    for name, said in groupby(answers(db, bound, victim), key=itemgetter(0)):
        for _, given, answer in said:
            if SECRET in without(answer, given) or (str(victim.tenant) in answer and "WL" not in answer[:5]):
                told.setdefault(name, answer[:300])
        if (after := theirs(db, victim)) != before:
            changed = {table for table in before if before[table] != after[table]}
            told.setdefault(name, f"changed {changed}")
            before = after
    for name, answer in told.items():
        with subtests.test(function=name):
            pytest.fail(answer)


def test_the_same_questions_find_everything_for_a_role_that_is_not_bound(
    db: Database, victim: Victim
) -> None:
    """The control: the attack above asks the right questions."""
    session = Session(db.connection())
    with session.conn.transaction(force_rollback=True):
        assert len(session.claim(9, queues=["default", "secret-queue"])) == 2
    found = {name for name, given, answer in answers(db, session, victim) if SECRET in without(answer, given)}
    assert {"get_job", "list_jobs", "list_attempts", "list_history", "list_queues", "list_tenants"} <= found


def test_a_bound_role_cannot_name_another_tenant_in_any_function(
    db: Database, bound: Session, victim: Victim
) -> None:
    given = next(victim.guesses())
    codes = {
        function.name: function.call(bound.conn, **fitted(function, {**given, "p_tenant": victim.tenant}))[
            2:7
        ]
        for function in public_functions(db)
        if function.takes("p_tenant")
    }
    assert {name: code for name, code in codes.items() if code != "WL005"} == {}
    assert len(codes) >= 10


def test_a_bound_role_cannot_tell_a_taken_slug_from_a_free_one(
    db: Database, bound: Session, victim: Victim
) -> None:
    tried = 0
    for function in public_functions(db):
        if function.takes("p_slug"):
            said = []
            for slug in (victim.slug, "nobody"):
                given = arguments(job_id=UNKNOWN, token=UNKNOWN, gate=UNKNOWN, slug=slug)
                said.append(function.call(bound.conn, **fitted(function, given)).replace(slug, "…"))
            assert said[0] == said[1], function.name
            tried += 1
    assert tried >= 2


def test_a_foreign_id_and_an_unknown_one_get_the_same_answer_everywhere(
    db: Database, victim: Victim, subtests: pytest.Subtests
) -> None:
    """For a role that is not bound but acts for the default tenant, and asks with nobody's token."""
    session = Session(db.connection())
    tried = 0
    for function in public_functions(db):
        if not function.takes("p_job", "p_jobs") or not function.takes("p_tenant"):
            continue
        for job_id in victim.jobs:
            said = []
            for asked in (job_id, UNKNOWN):
                given = arguments(job_id=asked, token=UUID(int=1), gate=UUID(int=1), slug="none")
                given = fitted(function, {**given, "p_tenant": DEFAULT_TENANT})
                said.append(function.call(session.conn, **given).replace(str(asked), "…"))
            if function.name != "enqueue_jobs":
                with subtests.test(function=function.name):
                    assert said[0] == said[1]
                tried += 1
    assert tried > 20


FOREIGN_WORDS: dict[str, Callable[[Session, Word, UUID], list[Any]]] = {
    "complete": lambda s, word, tenant: s.complete(word, tenants=[tenant]),
    "fail": lambda s, word, tenant: [tuple(row)[:2] for row in s.fail(word)],
    "snooze": lambda s, word, tenant: [tuple(row)[:2] for row in s.snooze(word, delays=[1])],
    "release": lambda s, word, tenant: [tuple(row)[:2] for row in s.release(word)],
    "renew": lambda s, word, tenant: [(word.job_id, code) for _, _, code in s.renew(word.token)],
}


def test_a_bound_worker_cannot_use_another_tenants_token(
    db: Database, bound: Session, victim: Victim
) -> None:
    """Not even the true one."""
    before = theirs(db, victim)
    for job_id, token in zip(victim.jobs, victim.tokens, strict=True):
        word = Word(token, job_id)
        for say in FOREIGN_WORDS.values():
            assert say(bound, word, victim.tenant) == [(job_id, "lease_lost")]
        with refused("WL003"):
            bound.finish(word)
    assert theirs(db, victim) == before


def test_a_bound_worker_lives_beside_a_tenant_whose_worker_died(
    db: Database, bound: Session, victim: Victim
) -> None:
    """An expired lease of somebody else is none of its business, and no obstacle either."""
    assert bound.claim(5, queues=["default", "secret-queue"]) == []
    job_id = bound.enqueue()
    held = bound.claim_one()
    assert held.job_id == job_id
    lapse(db)
    assert bound.expire() == [(job_id, "queued")]
    assert_whole(db)


def test_one_id_of_the_callers_making_serves_two_tenants(db: Database, jobs: Session, other: Session) -> None:
    mine = uuid4()
    for session in (jobs, other):
        assert tuple(session.enqueue_row(id=mine, key="k", payload=str(session.tenant))) == (mine, True)
    held = jobs.claim(5)
    assert {(row.job_id, row.tenant_id) for row in held} == {(mine, jobs.tenant), (mine, other.tenant)}
    first = next(row for row in held if row.tenant_id == jobs.tenant)
    assert jobs.complete(first) == []
    assert (jobs.state(mine), other.state(mine)) == ("succeeded", "running")
    assert_whole(db)


def test_a_bound_role_hears_no_name_of_a_node_that_another_login_runs(db: Database) -> None:
    cluster = Cluster(db, "mill")
    node = Session(db.connection(), node=cluster.ids["mill"])
    running = node.enqueue()
    node.claim(2)
    node.claim(1, wait=True)
    bind(db, "operator", DEFAULT_TENANT)

    def told(role: str) -> tuple[bool, Any, Any, int, bool]:
        (why,) = call(db, "explain_job", role=role, tenant=DEFAULT_TENANT, job=running)
        (leader,) = call(db, "get_leader", role=role)
        assert (leader.node_id, leader.term) == (node.node, 1)
        (queue,) = call(db, "list_queues", role=role)
        with refused("WL008") as refusal:
            call(db, "create_cluster_job", role=role, tenant=DEFAULT_TENANT, kind=KIND, leader=UNKNOWN)
        said = f"{refusal.value} {refusal.value.diag.message_detail}"
        named = "mill" in f"{why.says} {why.details}"
        return named, leader.name, leader.address, queue.waiting_nodes, "mill" in said

    assert told("app") == (True, "mill", "mill:1", 1, True)
    assert told("operator") == (False, None, None, 0, False)


def test_a_bound_worker_speaks_for_no_node_of_another(db: Database, bound: Session, victim: Victim) -> None:
    node = UUID("01900000-0000-7000-8000-0000000000aa")
    db.execute(
        "insert into windlass_data.node (id, name, host, pid, version, queues, kinds, concurrency, login, "
        "started_at, heartbeat_at) "
        "values (%s, 'n', '', 1, '', '{default}', '{}', 1, 'test_operator', '2000-01-01Z', '2000-01-01Z')",
        node,
        role="superuser",
    )
    db.execute("insert into windlass_data.waiting values ('default', %s)", node, role="superuser")
    theirs = (
        "select n.id, w.queue from windlass_data.node n join windlass_data.waiting w on w.node_id = n.id "
        "where n.name = 'n'"
    )
    before = db.fetch(theirs, role="superuser")
    with refused("WL005"):
        bound.call("select windlass.claim_jobs(%s, array['default'], p_wait => false)", node)
    with refused("WL005"):
        bound.call("select windlass.survey_lanes(%s, array['default'])", node)
    bound.call("select windlass.claim_jobs(%s, array['default'], p_wait => true)", uuid4())
    bound.call("select * from windlass.maintain(3, '1 minute')")
    assert db.fetch_value("select count(*) from windlass_data.waiting", role="superuser") == 1
    bound.call("select windlass.heartbeat_node(%s, 'mine')", bound.node)
    assert bound.claim(5, wait=True) == []
    assert db.fetch_value("select count(*) from windlass_data.waiting", role="superuser") == 2
    assert db.fetch(theirs, role="superuser") == before != []
