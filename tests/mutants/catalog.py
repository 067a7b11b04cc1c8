"""Every guard that is taken out, one at a time, and the tests chosen for it."""

from tests.mutants.catalog_cluster import CLUSTER
from tests.mutants.catalog_costs import COSTS
from tests.mutants.catalog_days import DAYS
from tests.mutants.catalog_nodes import NODES
from tests.mutants.catalog_python import PYTHON
from tests.mutants.catalog_tenants import TENANTS
from tests.mutants.mutant import Mutant

LEASE = "sql/code/lease"
JOB = "sql/code/job"
FENCING = ("tests/sql/test_fencing.py",)
RACES = ("tests/sql/test_races.py",)
BEGINNINGS = "tests/sql/test_begin_jobs.py"
INTERLEAVINGS = "tests/interleavings/test_interleavings.py"

_TOKENS = (
    Mutant(
        "token-of-success",
        "a success needs the token of the lease",
        f"{LEASE}/complete_jobs.sql",
        "join windlass._held_jobs(p_tokens) as h on h.token = s.token and h.job_id = s.job_id",
        "join windlass._held_jobs(array(select id from windlass_data.lease)) as h on h.job_id = s.job_id",
        FENCING,
    ),
    Mutant(
        "token-of-its-own-jobs",
        "a token speaks of its own jobs only",
        f"{LEASE}/finish_job.sql",
        "where h.job_id = p_job",
        "where true or h.job_id = p_job",
        ("tests/sql/test_finish_job.py", *FENCING),
    ),
    Mutant(
        "token-of-renewal",
        "a renewal extends the leases named and no other",
        f"{LEASE}/renew_leases.sql",
        "where l.id = any (p_tokens) and (v_bound is null",
        "where (v_bound is null",
        (*FENCING, "tests/sql/test_renew_leases.py"),
    ),
    Mutant(
        "attempt-key-of-failure",
        "the key of the attempt decides between two words",
        f"{LEASE}/_end_attempts.sql",
        "order by g.tenant_id, g.job_id\n    on conflict do nothing",
        "order by g.tenant_id, g.job_id",
        RACES,
    ),
    Mutant(
        "attempt-key-of-success",
        "the key of the attempt decides between two successes",
        f"{LEASE}/complete_jobs.sql",
        "v_open := windlass._open_words(p_tokens, p_jobs);",
        "v_open := null;",
        RACES,
    ),
    Mutant(
        "version",
        "the version rises with each claim",
        f"{LEASE}/_take_lane.sql",
        "array[v_head.version + 1]",
        "array[v_head.version]",
        ("tests/sql/test_claim_jobs.py::test_the_version_rises_with_each_claim",),
    ),
    Mutant(
        "version-of-several",
        "the version rises with each claim of several jobs",
        f"{LEASE}/_take_lane.sql",
        "array_agg(r.version + 1)",
        "array_agg(r.version)",
        ("tests/sql/test_claim_sharing.py::test_the_version_rises_with_each_claim_of_several_jobs",),
    ),
    Mutant(
        "version-of-many-lanes",
        "the version rises with each claim from several lanes",
        f"{LEASE}/_take_turn.sql",
        "t.version + 1 as version",
        "t.version as version",
        ("tests/sql/test_claim_sharing.py::test_the_version_rises_with_each_claim_from_several_lanes",),
    ),
    Mutant(
        "version-of-named-lanes",
        "the version rises with each claim from lanes that it names",
        f"{LEASE}/_take_lanes.sql",
        "array_agg(r.version + 1)",
        "array_agg(r.version)",
        ("tests/sql/test_claim_by_name.py::test_the_version_rises_with_each_claim",),
    ),
    Mutant(
        "room-of-named-lanes",
        "lanes that a claim names give no more than their limits leave",
        f"{LEASE}/_take_lanes.sql",
        "if v_offers <> v_parts then",
        "if false then",
        ("tests/sql/test_claim_by_name.py::test_limits_hold_and_what_they_hold_back_others_give",),
    ),
    Mutant(
        "tokens-of-named-lanes",
        "what lanes give that a claim names is taken from their buckets",
        f"{LEASE}/_take_lanes.sql",
        "perform windlass._use_limits(v_of, v_now);",
        "null;",
        ("tests/sql/test_claim_by_name.py::test_limits_hold_and_what_they_hold_back_others_give",),
    ),
    Mutant(
        "start-after-sight",
        "no job starts before it was there",
        f"{LEASE}/_take_lane.sql",
        "v_now := windlass_data.clock();  -- after it was seen: nothing starts before it was there",
        "v_now := transaction_timestamp();",
        ("tests/sql/test_claim_times.py",),
    ),
    Mutant(
        "retirement-lock",
        "no lane leaves the list while somebody puts a job into it",
        f"{LEASE}/retire_lanes.sql",
        "pg_try_advisory_xact_lock(20053, b.bucket) as free",
        "true as free",
        ("tests/sql/test_retire_lanes.py",),
    ),
    Mutant(
        "number-before-place",
        "a transaction has its number before its first place in line",
        f"{JOB}/_enqueue.sql",
        "perform pg_current_xact_id();",
        "null;",
        ("tests/sql/test_survey_lanes.py",),
    ),
    Mutant(
        "open-counter",
        "a lease stays while a job of it runs",
        f"{LEASE}/complete_jobs.sql",
        "where l.id = t.token and l.open = t.n\n      ), fewer as (\n        update windlass_data.lease as l "
        "set open = l.open - t.n from tally as t where l.id = t.token and l.open > t.n",
        "where l.id = t.token\n      ), fewer as (\n        select 1",
        ("tests/sql/test_complete_jobs.py",),
    ),
)

_TIME = (
    Mutant(
        "expiry-comparison",
        "only a lease that ran out is expired",
        f"{LEASE}/expire_leases.sql",
        "where l.expires_at < v_now and",
        "where",
        ("tests/sql/test_expire_leases.py", *RACES),
    ),
    Mutant(
        "expiry-passes-over",
        "expiry waits for nobody",
        f"{LEASE}/expire_leases.sql",
        "for update skip locked);",
        "for update);",
        RACES,
    ),
    Mutant(
        "unbegun-is-given-back",
        "no job is given up for a last attempt that was not begun",
        f"{LEASE}/_end_abandoned.sql",
        "when m.job_id <> all (l.begins) then",
        "when false then",
        (BEGINNINGS,),
    ),
    Mutant(
        "begun-is-given-up",
        "a last attempt whose handler was called counts",
        f"{LEASE}/_end_abandoned.sql",
        "case when m.job_id = any (l.begun) or l.begins is null then null",
        "case when l.begins is null then null",
        (BEGINNINGS,),
    ),
    Mutant(
        "doubt-once",
        "a job that kills its worker as it begins does not go on for ever",
        f"{LEASE}/_end_abandoned.sql",
        "and a.outcome = 'released' and a.error @>",
        "and false and a.error @>",
        (BEGINNINGS,),
    ),
    Mutant(
        "token-of-beginning",
        "a beginning needs the token of the lease",
        f"{LEASE}/begin_jobs.sql",
        "v_open := windlass._open_words(p_tokens, p_jobs);",
        "v_open := array(select o from generate_subscripts(p_jobs, 1) as o);",
        (BEGINNINGS, *FENCING),
    ),
    Mutant(
        "not-before-its-time",
        "a scheduled job waits for its time",
        f"{LEASE}/_promote_jobs.sql",
        "where s.lane_id = l.id and s.run_at <= v_now and s.run_at >= v_from",
        "where s.lane_id = l.id and s.run_at >= v_from",
        ("tests/sql/test_enqueue_job.py", "tests/sql/test_claim_jobs.py"),
    ),
    Mutant(
        "one-clock",
        "the database's one clock decides",
        f"{LEASE}/renew_leases.sql",
        "v_now timestamptz := windlass_data.clock()",
        "v_now timestamptz := now()",
        ("tests/schema/test_source.py", "tests/sql/test_renew_leases.py"),
    ),
)

_LIFE = (
    Mutant(
        "attempt-cap",
        "no more attempts than max_attempts",
        f"{LEASE}/_end_attempts.sql",
        "and c.counted >= s.max_attempts then 'dead'",
        "and false then 'dead'",
        ("tests/sql/test_fail_jobs.py",),
    ),
    Mutant(
        "crash-counts",
        "a lease that ran out counts as an attempt",
        f"{LEASE}/_end_attempts.sql",
        "when s.outcome in ('snoozed', 'released') then 0",
        "when s.outcome in ('snoozed', 'released', 'crashed') then 0",
        ("tests/sql/test_fail_jobs.py", "tests/sql/test_expire_leases.py"),
    ),
    Mutant(
        "cancel-beats-retry",
        "a job that was asked to stop does not go on",
        f"{LEASE}/_end_attempts.sql",
        "when s.outcome = 'canceled' or r.job_id is not null then 'canceled'",
        "when s.outcome = 'canceled' then 'canceled'",
        ("tests/sql/test_cancel_job.py",),
    ),
    Mutant(
        "job-before-lease",
        "a word waits for the cancel that holds its job",
        f"{JOB}/_lock_jobs.sql",
        "for no key update;",
        ";",
        ("tests/sql/test_races_cancel.py",),
    ),
    Mutant(
        "claim-passes-over",
        "two claims never wait for each other",
        f"{LEASE}/_take_lane.sql",
        "  limit 1\n  for update skip locked;",
        "  limit 1\n  for update;",
        ("tests/sql/test_races.py::test_claim_and_claim",),
    ),
    Mutant(
        "claim-of-several-passes-over",
        "two claims of several jobs never wait for each other",
        f"{LEASE}/_take_lane.sql",
        "    limit p_limit\n    for update skip locked",
        "    limit p_limit\n    for update",
        ("tests/sql/test_races.py::test_claim_and_claim",),
    ),
    Mutant(
        "claims-pass-over",
        "two claims from several lanes never wait for each other",
        f"{LEASE}/_take_turn.sql",
        "for update skip locked",
        "for update",
        ("tests/sql/test_races.py::test_claim_and_claim_from_several_lanes",),
    ),
    Mutant(
        "named-claims-pass-over",
        "two claims from lanes that they name never wait for each other",
        f"{LEASE}/_take_lanes.sql",
        "for update skip locked",
        "for update",
        ("tests/sql/test_claim_by_name.py::test_claim_and_claim",),
    ),
    Mutant(
        "gate-is-noted",
        "a claim sees that there is a gate",
        "sql/migrations/0013_said.sql",
        "create trigger said after insert on windlass_data.gate",
        "create trigger said after delete on windlass_data.gate",
        (
            "tests/sql/test_said.py",
            "tests/sql/test_claim_jobs.py::test_a_gate_holds_what_it_names_and_nothing_else",
        ),
    ),
    Mutant(
        "gate",
        "a gate holds what it names",
        f"{LEASE}/_open_lanes.sql",
        "and not (v_look.gated and exists (",
        "and not (false and exists (",
        ("tests/sql/test_claim_jobs.py", "tests/sql/test_set_gate.py"),
    ),
    Mutant(
        "only-the-dead",
        "only dead jobs are redriven",
        f"{JOB}/redrive_jobs.sql",
        "perform windlass._check_dead(p_tenant, p_jobs);",
        "",
        ("tests/sql/test_redrive_jobs.py",),
    ),
    Mutant(
        "same-content",
        "one key, one content",
        f"{JOB}/_resolve_duplicate.sql",
        "j.payload = p_job.payload and j.kind = p_job.kind",
        "j.kind = p_job.kind",
        ("tests/sql/test_idempotency.py",),
    ),
    Mutant(
        "key-looked-at-again",
        "a key is not taken from a job that is being revived",
        f"{JOB}/_resolve_duplicate.sql",
        "and p_job.key is not null and not v_locked then",
        "and false then",
        (f"{INTERLEAVINGS}::test_a_key_is_not_taken_from_a_job_that_is_being_revived",),
    ),
    Mutant(
        "key-marked-by-revival",
        "an old snapshot cannot take the key of a revived job",
        f"{JOB}/_retake_keys.sql",
        "if not p_dry_run then  -- also where",
        "if v_holder <> v_job.id and not p_dry_run then  -- also where",
        (f"{INTERLEAVINGS}::test_a_snapshot_from_before_a_redrive_cannot_take_its_key",),
    ),
    Mutant(
        "payload-limit",
        "a payload has a largest size",
        f"{JOB}/_is_bad.sql",
        "p_job.payload is null or pg_column_size(p_job.payload) > 1048576",
        "p_job.payload is null",
        ("tests/sql/test_enqueue_job.py",),
    ),
)

MUTANTS = (*_TOKENS, *_TIME, *_LIFE, *DAYS, *TENANTS, *CLUSTER, *NODES, *COSTS, *PYTHON)
