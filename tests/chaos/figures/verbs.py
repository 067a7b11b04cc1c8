"""Every function that somebody may call, by name: how a caller says it by chance.

A test compares these names with the functions that are granted, so that a new one is mixed in too.
"""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from tests.chaos.figures.mixer import BATCH, QUEUES, Call, Mixer, name_of

__all__ = ["BOUND_ROLE", "LEFT_OUT", "VERBS", "WEIGHTS"]

BOUND_ROLE = "chaos_bound"

Verb = Callable[[Mixer], Call]


def _gate(mixer: Mixer) -> list[Any]:
    scope = [*mixer.scope(), mixer.pick(None, name_of(mixer.spare()))]
    return [*scope, mixer.pick(True, False), all(part is None for part in scope)]


def _of(text: str, values: Callable[[Mixer], list[Any]] = lambda _: []) -> Verb:
    return lambda mixer: (f"select * from windlass.{text}", values(mixer))


def _about_tenant(mixer: Mixer) -> list[Any]:
    return [mixer.tenant()]


def _about_job(mixer: Mixer) -> list[Any]:
    return mixer.job()[:2]


JOB_VERBS: dict[str, Verb] = {
    "claim_jobs": _of(
        "claim_jobs(%s, %s, null, %s, %s, p_begins => %s)",
        lambda m: [
            *(m.pick(m.node, m.spare()), QUEUES, m.random.randint(1, BATCH), m.pick(0.1, 0.5, 5.0)),
            m.pick(True, False),
        ],
    ),
    "begin_jobs": _of(
        "begin_jobs(%s::uuid[], %s::uuid[], %s::boolean[])",
        lambda m: [*(words := m.words()), m.pick(None, [m.pick(True, False) for _ in words[0]])],
    ),
    "complete_jobs": _of(
        "complete_jobs(%s::uuid[], %s::uuid[], null, %s::bigint[])",
        lambda m: [*(words := m.words()), m.pick(None, [3 for _ in words[0]])],
    ),
    "fail_jobs": _of(
        "fail_jobs(%s::uuid[], %s::uuid[], null, null, %s::float8[])",
        lambda m: [*(words := m.words()), [m.pick(0.0, 0.1) for _ in words[0]]],
    ),
    "snooze_jobs": _of(
        "snooze_jobs(%s::uuid[], %s::uuid[], %s::float8[])",
        lambda m: [*(words := m.words()), [0.1 for _ in words[0]]],
    ),
    "release_jobs": _of("release_jobs(%s::uuid[], %s::uuid[])", Mixer.words),
    "record_costs": _of(
        "record_costs(%s::uuid[], %s::uuid[], %s::bigint[], %s::text[], %s::uuid[])",
        lambda m: [
            *(words := m.words()),
            *([5 for _ in words[0]], ["mixed" for _ in words[0]], [uuid4() for _ in words[0]]),
        ],
    ),
    "renew_leases": _of("renew_leases(%s::uuid[], 1)", lambda m: m.words()[:1]),
    "finish_job": _of("finish_job(%s, %s)", lambda m: m.job()[:0:-1]),
    "expire_leases": _of("expire_leases(%s)", lambda m: [m.random.randint(1, 100)]),
    "enqueue_job": _of(
        "enqueue_job(%s, 'k1', p_concurrency_key => %s, p_max_attempts => 2)",
        lambda m: [m.tenant(), m.pick(None, "1", "2")],
    ),
    "enqueue_jobs": _of(
        "enqueue_jobs(%s, %s, %s)", lambda m: [m.tenant(), m.new_jobs(), m.pick(False, False, True)]
    ),
    "enqueue_many": _of(
        "enqueue_many(%s, %s, '[1, 2, 3]', %s::uuid[])",
        lambda m: [
            m.tenant(),
            json.dumps({"kind": "k2", **m.pick({}, {"concurrency_key": "3"})}),
            [m.pick(uuid4(), m.old_id()) for _ in range(3)],
        ],
    ),
    "cancel_job": _of("cancel_job(%s, %s)", _about_job),
    "reschedule_job": _of(
        "reschedule_job(%s, %s, now() + interval '1 s' * %s, %s)",
        lambda m: [*_about_job(m), m.pick(0.0, 0.2), m.pick(None, 1, 2)],
    ),
    "redrive_jobs": _of("redrive_jobs(%s, p_limit => 20, p_everything => true)", _about_tenant),
    "survey_lanes": _of("survey_lanes(%s, %s)", lambda m: [m.node, QUEUES]),
    "retire_lanes": _of("retire_lanes(%s)", lambda m: [m.random.randint(1, 100)]),
}

CARE_VERBS: dict[str, Verb] = {
    "maintain": _of("maintain(%s)", lambda m: [m.random.randint(3, 30)]),
    "prune_jobs": _of(
        "prune_jobs(%s, %s, %s, %s, 500)",
        lambda m: [m.pick("1 hour", "1 day", "1 day", "0 s") for _ in range(4)],
    ),
    "fold_costs": _of("fold_costs(%s)", lambda m: [m.random.randint(1, 500)]),
    "seal_events": _of("seal_events(%s)", lambda m: [m.random.randint(1, 500)]),
    "seal_attempts": _of("seal_attempts()"),
    "set_gate": _of(
        "set_gate(%s, %s, %s, p_node => %s, p_expires_at => now() + interval '0.2 s', p_release => %s,"
        " p_everything => %s)",
        _gate,
    ),
    "clear_gate": _of("clear_gate(null, %s, %s, %s)", Mixer.scope),
    "set_limit": _of(
        "set_limit(%s, %s, %s, p_concurrency => %s, p_rate => %s, p_rate_seconds => 1, p_depth => %s,"
        " p_budget_cents => %s)",
        lambda m: [
            *m.scope(),
            *(m.random.randint(1, 200), m.random.randint(100, 2_000), m.random.randint(500, 5_000), 10**9),
        ],
    ),
    "clear_limit": _of(
        "clear_limit(%s, %s, %s, %s)", lambda m: [*m.scope(), m.pick(None, None, ["rate"], ["depth"])]
    ),
    "set_queue": _of("set_queue('default', %s)", lambda m: [m.pick("fair", "strict")]),
    "set_tenant": _of("set_tenant(%s, %s)", lambda m: [m.tenant(), m.random.randint(1, 5)]),
    "create_tenant": _of("create_tenant(%s)", lambda m: [f"made-{m.random.getrandbits(30)}"]),
    "bind_role": _of(f"bind_role('{BOUND_ROLE}', %s)", _about_tenant),
    "unbind_role": _of(f"unbind_role('{BOUND_ROLE}')"),
    "create_redrive": _of(
        "create_redrive(%s, p_kinds => %s, p_throttle => %s, p_stop_rate => %s)",
        lambda m: [m.tenant(), [m.pick("k1", "k2", "k3")], m.pick(None, 1000.0), m.pick(None, 0.9)],
    ),
    "tend_redrive": _of("tend_redrive(%s, %s)", lambda m: m.one(m.world.runners)),
    "move_redrive": _of("move_redrive(%s, %s, %s, %s, %s::uuid[])", Mixer.slice),
    "stop_redrive": _of("stop_redrive(%s, %s)", lambda m: m.one(m.world.redrives)),
}

CLUSTER_VERBS: dict[str, Verb] = {
    "heartbeat_node": _of(
        "heartbeat_node(%s, %s, p_queues => %s, p_kinds => array['k1'])",
        lambda m: [node := m.spare(), name_of(node), QUEUES],
    ),
    "tend_cluster": _of(
        "tend_cluster(%s, '', array['spread'], 3, p_local_kinds => array['spread'])",
        lambda m: [m.spare()],
    ),
    "create_cluster_job": lambda m: (
        (
            "select c.* from windlass.get_leader() as l, windlass.create_cluster_job("
            "%s, 'spread', '{}', l.node_id, l.term, %s, p_quorum_timeout_ms => 500) as c"
        ),
        [m.tenant(), m.pick(True, None)],
    ),
    "claim_parts": _of(
        "claim_parts(%s, array['spread'], %s, %s)",
        lambda m: [m.spare(), m.random.randint(1, 5), m.pick(0.2, 2.0)],
    ),
    "renew_parts": _of("renew_parts(%s::uuid[], 1)", lambda m: [[m.one(m.world.parts)[0]]]),
    "end_parts": _of(
        "end_parts(%s::uuid[], %s::uuid[], %s::text[])",
        lambda m: [*([one] for one in m.one(m.world.parts)), [m.pick("succeeded", "failed")]],
    ),
    "begin_action": _of("begin_action(%s, %s)", lambda m: m.one(m.world.actions)),
    "stop_node": _of("stop_node(%s)", lambda m: [m.spare()]),
    "drain_node": _of("drain_node(%s)", lambda m: [name_of(m.spare())]),
}


READS: dict[str, Verb] = {
    **{name: _of(f"{name}()") for name in ("clock", "health", "table_health", "get_leader", "list_tenants")},
    **{name: _of(f"{name}()") for name in ("list_gates", "list_limits", "list_nodes", "list_queues")},
    **{name: _of(f"{name}()") for name in ("list_unserved", "list_costs")},
    **{
        name: _of(f"{name}(%s)", _about_tenant)
        for name in ("list_jobs", "list_events", "list_redrives", "verify_audit", "tenant_slug")
    },
    **{
        name: _of(f"{name}(%s, %s)", _about_job)
        for name in ("get_job", "list_attempts", "list_history", "list_job_costs", "explain_job")
    },
    "get_redrive": _of("get_redrive(%s, %s)", lambda m: m.one(m.world.redrives)),
    "get_cluster_job": _of("get_cluster_job(%s, %s)", lambda m: m.one(m.world.cluster_jobs)),
    "preview_redrive": _of("preview_redrive(%s, array['k1'])", _about_tenant),
    "tenant_id": _of("tenant_id('tenant-1')"),
}

LEFT_OUT: dict[str, str] = {}
"""Functions that are granted and not mixed in, with the reason."""

VERBS: dict[str, Verb] = {**JOB_VERBS, **CARE_VERBS, **CLUSTER_VERBS, **READS}
_OFTEN = {"claim_jobs": 24, "complete_jobs": 12, "enqueue_jobs": 12, "fail_jobs": 8, "tend_cluster": 6}
_RARELY = {"create_tenant": 1, "drain_node": 1, "stop_node": 1, "set_gate": 2}
WEIGHTS = {name: {**_OFTEN, **_RARELY}.get(name, 2 if name in READS else 4) for name in VERBS}
"""How often each is said, in comparison."""
