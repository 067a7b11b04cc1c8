"""Guards of the days: a drop loses nothing, and the making of one holds nobody up."""

from tests.mutants.mutant import Mutant

REDRIVE = "tests/sql/test_prune_redrive.py"
MAKE = "tests/sql/test_make_days.py"
KEPT = "tests/sql/test_days_kept.py"
LEASES = "tests/sql/test_prune_leases.py"

DAYS = (
    Mutant(
        "look-under-the-lock",
        "a drop looks under its lock at what must be kept",
        "sql/code/job/_drop_day.sql",
        "from (select distinct k.* from windlass._kept_jobs(p_day, p_before, null) as k) as k;",
        "from unnest(v_tenants, v_jobs) as k(tenant_id, job_id);",
        (f"{REDRIVE}::test_a_redrive_at_each_statement_of_a_drop",),
    ),
    Mutant(
        "keys-looked-at-again",
        "a job that was revived meanwhile keeps its key",
        "sql/code/job/_free_keys.sql",
        "where k.ctid = any (v_held)\n      and (k.tenant_id, k.job_id) not in (\n"
        "        select j.tenant_id, j.job_id from windlass._kept_jobs(p_day, p_before, null) as j);",
        "where k.ctid = any (v_held);",
        (f"{REDRIVE}::test_a_redrive_at_each_statement_of_a_drop",),
    ),
    Mutant(
        "key-taken-again",
        "a redrive whose key went takes it again",
        "sql/code/job/_retake_keys.sql",
        "exit when found or p_dry_run;",
        "exit;",
        (f"{REDRIVE}::test_a_drop_at_each_statement_of_a_redrive",),
    ),
    Mutant(
        "rest-validated",
        "the rest is read before everybody is made to wait",
        "sql/code/node/_make_days.sql",
        "  perform windlass._validate_rest();\n",
        "",
        (MAKE,),
    ),
    Mutant(
        "rest-widened",
        "what outlives a day fits into the rest",
        "sql/code/job/_drop_day.sql",
        "  perform windlass._widen_rest(",
        "  perform (",
        (MAKE,),
    ),
    Mutant(
        "much-ahead",
        "many rows of the time to come hold nobody up",
        "sql/code/node/_make_days.sql",
        "if windlass._ahead_size(v_to, 5001) > 5000 then",
        "if false then",
        (MAKE,),
    ),
    Mutant(
        "one-day-planned",
        "what locks jobs looks at their days only",
        "sql/code/job/_lock_jobs.sql",
        "set plan_cache_mode = force_custom_plan",
        "set plan_cache_mode = force_generic_plan",
        (f"{KEPT}::test_no_call_locks_more_for_more_days",),
    ),
    Mutant(
        "others-in-their-stead",
        "jobs that somebody holds keep no other from falling due",
        "sql/code/lease/_promote_jobs.sql",
        "exit when cardinality(v_moved.passed) = 0;",
        "exit;",
        (f"{KEPT}::test_a_promotion_passes_over_a_job_that_somebody_holds",),
    ),
    Mutant(
        "every-day-of-a-word",
        "a word is about the jobs of all its days",
        "sql/code/job/_place_jobs.sql",
        "and j.id between v_day.first and v_day.last;\n",
        "and j.id between v_day.first and v_day.last;\n    exit;\n",
        (f"{KEPT}::test_one_word_about_jobs_of_many_days",),
    ),
    Mutant(
        "named-and-canceled",
        "a job canceled while it waited stays while a lease names it",
        "sql/code/job/_due_jobs.sql",
        "and (j.tenant_id, j.id) not in (",
        "and (j.tenant_id, gen_random_uuid()) not in (",
        (f"{LEASES}::test_what_a_lease_names_is_not_pruned",),
    ),
    Mutant(
        "named-and-ended",
        "a job that an attempt ended stays while a lease names it",
        "sql/code/job/_due_jobs.sql",
        "and (a.tenant_id, a.job_id) not in (",
        "and (a.tenant_id, gen_random_uuid()) not in (",
        (f"{LEASES}::test_what_a_lease_names_is_not_pruned",),
    ),
    Mutant(
        "named-in-a-day",
        "a finished job that a lease names outlives its day",
        "sql/code/job/_live_jobs.sql",
        "from windlass._named_jobs() as n where n.job_id >= p_from",
        "from windlass._named_jobs() as n\n"
        "  join windlass_data.job as j on j.id = n.job_id and j.ended_state is null where n.job_id >= p_from",
        (f"{LEASES}::test_what_a_lease_names_is_not_pruned",),
    ),
    Mutant(
        "parts-not-closed",
        "a cluster job stays until its parts are closed",
        "sql/code/job/_named_jobs.sql",
        "where c.ended_at is null",
        "where false",
        (f"{LEASES}::test_a_cluster_job_stays_until_its_parts_are_closed",),
    ),
    Mutant(
        "gone-jobs",
        "a lease does not stay for jobs that are gone",
        "sql/code/lease/_settle_leases.sql",
        "v_written := v_written || windlass._gone_jobs(p_tokens);",
        "null;",
        (LEASES,),
    ),
    Mutant(
        "gone-jobs-of-each-day",
        "no job is taken for gone because it is not of this day",
        "sql/code/lease/_gone_jobs.sql",
        "and m.job_id between v_day.first and v_day.last and j.id is null",
        "and j.id is null",
        (LEASES,),
    ),
    Mutant(
        "gone-jobs-counted-once",
        "a job that is gone and has its attempt is counted once",
        "sql/code/lease/_gone_jobs.sql",
        "j.id is null and a.job_id is null",
        "j.id is null",
        (LEASES,),
    ),
    Mutant(
        "gone-jobs-seen-now",
        "an older snapshot takes no job for gone",
        "sql/code/lease/_gone_jobs.sql",
        "if v_tokens = '{}' or current_setting('transaction_isolation') not in",
        "if v_tokens = '{}' or 'read committed' not in",
        (f"{LEASES}::test_an_older_snapshot_takes_no_job_for_gone",),
    ),
)
