"""The guards that keep a job: it is in one place whatever becomes of it, and a success ends it."""

from tests.mutants.mutant import Mutant

END = "sql/code/lease/_end_attempts.sql"
TAKE = "sql/code/lease/_take_lane.sql"
MODEL = ("tests/sql/test_model.py",)
RACES = "tests/sql/test_races.py"
NODE = "tests/integration/test_worker_node.py"
_IN_LINE = "from accepted as x where x.seq is not null"
_LATER = "from accepted as x where x.ends is null and x.seq is null"

LIVES = (
    Mutant(
        "released-again",
        "a job that is given back stands in line again",
        END,
        _IN_LINE,
        f"{_IN_LINE} and x.outcome <> 'released'",
        MODEL,
    ),
    Mutant(
        "crashed-again",
        "a job whose lease ran out stands in line again",
        END,
        _IN_LINE,
        f"{_IN_LINE} and x.outcome <> 'crashed'",
        MODEL,
    ),
    Mutant(
        "snoozed-later",
        "a job that is put off waits for its time",
        END,
        _LATER,
        f"{_LATER} and x.outcome <> 'snoozed'",
        MODEL,
    ),
    Mutant(
        "succeeded-stays-ended",
        "a job that succeeded stands in no line",
        "sql/code/lease/complete_jobs.sql",
        "      ), settled as (",
        "      ), again as (\n"
        "        insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)\n"
        "        select h.lane_id, nextval('windlass_data.ready_seq'), h.tenant_id, h.job_id,\n"
        "               h.version, h.counted from ended as e\n"
        "        join windlass._held_jobs(p_tokens) as h on h.token = e.token and h.job_id = e.job_id\n"
        "      ), settled as (",
        MODEL,
    ),
    Mutant(
        "claimed-leaves-the-line",
        "a job that runs stands in no line",
        TAKE,
        "where r.ctid = v_head.tid;",
        "where false;",
        MODEL,
    ),
    Mutant(
        "claim-recovers",
        "a claim that finds nothing recovers what has expired",
        "sql/code/lease/claim_jobs.sql",
        "exit when v_count > 0 or p_only or v_again;",
        "exit;",
        MODEL,
    ),
    Mutant(
        "reaper-recovers",
        "what has expired is recovered however much else there is to claim",
        "cluster/reaper.py",
        "expired = await self._runner.run(expire_leases(self._batch, within))",
        "expired = 0",
        (f"{NODE}::test_a_worker_by_itself_recovers_what_a_dead_one_held_whatever_else_waits",),
    ),
    Mutant(
        "last-job-once",
        "two claims do not get one lone job",
        TAKE,
        "  limit 1\n  for update skip locked;",
        "  limit 1;",
        (f"{RACES}::test_two_claims_of_the_last_job",),
    ),
    Mutant(
        "several-jobs-once",
        "two claims of several jobs do not get one of them twice",
        TAKE,
        "    limit p_limit\n    for update skip locked",
        "    limit p_limit",
        (f"{RACES}::test_claim_and_claim",),
    ),
    Mutant(
        "several-lanes-once",
        "two claims from several lanes do not get one job twice",
        "sql/code/lease/_take_turn.sql",
        "for update skip locked",
        "",
        (f"{RACES}::test_claim_and_claim_from_several_lanes",),
    ),
    Mutant(
        "named-lanes-once",
        "two claims from lanes that they name do not get one job twice",
        "sql/code/lease/_take_lanes.sql",
        "for update skip locked",
        "",
        ("tests/sql/test_claim_by_name.py::test_claim_and_claim",),
    ),
    Mutant(
        "succeeded-is-not-dead",
        "a job that succeeded is not redriven by name",
        "sql/code/job/_check_dead.sql",
        "where d.state is distinct from 'dead'",
        "where d.state not in ('dead', 'succeeded')",
        ("tests/sql/test_redrive_jobs.py::test_a_named_job_that_is_not_dead_stops_everything",),
    ),
    Mutant(
        "succeeded-is-not-found-dead",
        "a redrive that runs as a job finds none that succeeded",
        "sql/code/redrive/_dead_page.sql",
        "a.ends = 'dead'",
        "a.ends in ('dead', 'succeeded')",
        ("tests/sql/test_move_redrive.py",),
    ),
    Mutant(
        "timed-out-for-good",
        "an attempt that took too long may be the last one",
        END,
        "when s.outcome in ('failed', 'timed_out', 'crashed') and",
        "when s.outcome in ('failed', 'crashed') and",
        ("tests/sql/test_fail_jobs.py::test_no_more_than_max_attempts_are_counted",),
    ),
    Mutant(
        "cancel-is-recorded",
        "a cancel and its event commit together",
        "sql/code/job/cancel_job.sql",
        "  perform windlass._record(",
        "  perform jsonb_build_array(",
        ("tests/sql/test_cancel_job.py", "tests/sql/test_list_events.py"),
    ),
)
