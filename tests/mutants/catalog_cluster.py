"""The guards of cluster jobs."""

from tests.mutants.mutant import Mutant

CLUSTER_SQL = "sql/code/cluster"
LEADER = "tests/sql/test_cluster_leader.py"
PARTS = "tests/sql/test_cluster_parts.py"
RECOVERY = "tests/sql/test_cluster_recovery.py"
INTERLEAVINGS = "tests/interleavings/test_cluster_interleavings.py"
CLUSTER_RACES = "tests/sql/test_cluster_races.py"

_LEADERSHIP = (
    Mutant(
        "term-of-action",
        "an action begins only where its node leads",
        f"{CLUSTER_SQL}/begin_action.sql",
        "v_term := windlass._refuse_follower(v_held.node_id);",
        "select l.term into v_term from windlass_data.leader as l;",
        (f"{LEADER}::test_an_action_claimed_in_time_does_not_begin_once_another_leads",),
    ),
    Mutant(
        "term-of-creation",
        "a creation names the term of whoever leads",
        f"{CLUSTER_SQL}/_refuse_follower.sql",
        "if v_leader = p_node and v_term = coalesce(p_term, v_term) then",
        "if v_leader = p_node then",
        (f"{LEADER}::test_creation_is_refused_in_any_other_name_or_term",),
    ),
    Mutant(
        "leader-lease",
        "a leader's lease is waited for",
        f"{CLUSTER_SQL}/_lead.sql",
        "v_now timestamptz := windlass_data.clock();",
        "v_now timestamptz := windlass_data.clock() + p_lease;",
        (f"{LEADER}::test_a_silent_leader_is_replaced_when_its_lease_has_run_out",),
    ),
    Mutant(
        "one-leader-per-term",
        "of two that find the lease run out one begins the term",
        f"{CLUSTER_SQL}/_lead.sql",
        "where l.term = v_leader.term and l.expires_at <= v_now;",
        "where true;",
        (f"{CLUSTER_RACES}::test_of_two_that_find_the_lease_run_out_one_begins_the_term",),
    ),
    Mutant(
        "rising-term",
        "a term is never given out again",
        f"{CLUSTER_SQL}/_lead.sql",
        "term = l.term + 1, since",
        "term = l.term, since",
        (f"{LEADER}::test_a_silent_leader_is_replaced_when_its_lease_has_run_out",),
    ),
    Mutant(
        "leader-claims",
        "nobody but the leader claims an action",
        f"{CLUSTER_SQL}/_claimable_queues.sql",
        "where l.node_id = p_node and l.expires_at > windlass_data.clock()",
        "where l.node_id is not null",
        (f"{LEADER}::test_only_the_leader_claims_an_action",),
    ),
    Mutant(
        "lapsed-leader",
        "a leader whose lease ran out claims no action",
        f"{CLUSTER_SQL}/_claimable_queues.sql",
        "where l.node_id = p_node and l.expires_at > windlass_data.clock()",
        "where l.node_id = p_node",
        (f"{LEADER}::test_a_leader_whose_lease_ran_out_claims_nothing",),
    ),
    Mutant(
        "stale-action",
        "a new leader ends the actions of the last one",
        f"{CLUSTER_SQL}/tend_cluster.sql",
        "perform windlass._end_stale_actions(p_node);",
        "",
        (f"{LEADER}::test_an_action_of_the_last_term_is_ended_and_its_late_words_change_nothing",),
    ),
    Mutant(
        "hand-over",
        "a leader that stops hands over at once",
        "sql/code/node/stop_node.sql",
        "perform windlass._resign(p_node);",
        "",
        (f"{LEADER}::test_a_stopped_leader_hands_over_at_once",),
    ),
)

_PARTS = (
    Mutant(
        "part-token",
        "each claim of a part has a token of its own",
        f"{CLUSTER_SQL}/claim_parts.sql",
        "token = gen_random_uuid()",
        "token = p.job_id",
        (f"{PARTS}::test_a_late_word_about_a_part_changes_nothing",),
    ),
    Mutant(
        "part-renewal",
        "a renewal extends the parts named and no other",
        f"{CLUSTER_SQL}/renew_parts.sql",
        "where p.token = any (p_tokens) and p.state = 'running';",
        "where p.state = 'running';",
        (f"{PARTS}::test_a_renewal_extends_no_other_part",),
    ),
    Mutant(
        "own-parts-only",
        "a node claims its own parts and no other",
        f"{CLUSTER_SQL}/claim_parts.sql",
        "where p.tenant_id = d.tenant_id and p.job_id = d.job_id and p.node_id = p_node",
        "where p.tenant_id = d.tenant_id and p.job_id = d.job_id",
        (f"{PARTS}::test_a_node_gets_its_own_part_only_and_once",),
    ),
    Mutant(
        "parts-pass-over",
        "a claim of parts waits for nobody",
        f"{CLUSTER_SQL}/claim_parts.sql",
        "for update skip locked",
        "for update",
        (f"{CLUSTER_RACES}::test_a_part_that_somebody_holds_is_passed_over",),
    ),
    Mutant(
        "part-lease",
        "a part's lease is waited for",
        f"{CLUSTER_SQL}/_expire_parts.sql",
        "v_now timestamptz := windlass_data.clock();",
        "v_now timestamptz := 'infinity';",
        (f"{PARTS}::test_a_renewed_part_is_not_recovered",),
    ),
    Mutant(
        "part-attempts",
        "a part has no more attempts than its kind allows",
        f"{CLUSTER_SQL}/_end_part.sql",
        "v_counted >= v_part.part_max_attempts or",
        "",
        (f"{PARTS}::test_a_failed_part_is_tried_again_and_then_fails",),
    ),
    Mutant(
        "part-crash-counts",
        "a part whose lease ran out counts an attempt",
        f"{CLUSTER_SQL}/_end_part.sql",
        "when p_outcome in ('snoozed', 'released') then 0",
        "when p_outcome in ('snoozed', 'released', 'crashed') then 0",
        (f"{PARTS}::test_a_late_word_about_a_part_changes_nothing",),
    ),
)

_QUORUM = (
    Mutant(
        "more-than-half",
        "a quorum is more than half",
        f"{CLUSTER_SQL}/_make_parts.sql",
        "parts / 2 + 1 end",
        "(parts + 1) / 2 end",
        (f"{PARTS}::test_more_than_half_of_the_parts_are_needed",),
    ),
    Mutant(
        "failed-parts",
        "a failed part counts toward no quorum",
        f"{CLUSTER_SQL}/_count_parts.sql",
        "count(*) filter (where p.state in ('succeeded', 'skipped'))",
        "count(*) filter (where p.state in ('succeeded', 'skipped', 'failed'))",
        (f"{PARTS}::test_a_quorum_that_can_no_longer_come_about_is_not_waited_for",),
    ),
    Mutant(
        "members-only",
        "whoever is no member gets no part",
        f"{CLUSTER_SQL}/_make_parts.sql",
        "n.member_until > v_now and",
        "",
        (f"{RECOVERY}::test_a_dead_nodes_part_waits_for_it_and_the_quorum_does_not",),
    ),
    Mutant(
        "parked-job",
        "a job that waits for its parts is out of reach",
        f"{CLUSTER_SQL}/create_cluster_job.sql",
        "case when v_local then v_now + interval '1 day' end",
        "null",
        (f"{PARTS}::test_more_than_half_of_the_parts_are_needed",),
    ),
    Mutant(
        "adoption",
        "a node that starts again finds its parts",
        f"{CLUSTER_SQL}/tend_cluster.sql",
        "perform windlass._adopt_parts(p_node, v_node.name);",
        "",
        (f"{RECOVERY}::test_a_node_that_restarts_finds_its_part_again",),
    ),
    Mutant(
        "adoption-from-the-living",
        "a live node's part is not taken from it",
        f"{CLUSTER_SQL}/_adopt_parts.sql",
        "and (n.stopped_at is null and n.member_until > v_now) is not true",
        "",
        (f"{RECOVERY}::test_a_second_node_of_the_same_name_takes_nothing_from_a_live_one",),
    ),
    Mutant(
        "counted-once",
        "a node started again counts once in a quorum",
        f"{CLUSTER_SQL}/_drop_part.sql",
        "and c.settled_at is null;",
        "and false;",
        (f"{RECOVERY}::test_a_node_started_again_four_times_counts_once",),
    ),
    Mutant(
        "closing",
        "a canceled job takes its parts along",
        f"{CLUSTER_SQL}/tend_cluster.sql",
        "perform windlass._close_cluster_jobs(100);",
        "",
        (f"{RECOVERY}::test_a_canceled_job_takes_its_parts_along",),
    ),
)

_MEETINGS = (
    Mutant(
        "job-before-part",
        "a word about a part holds its job first",
        f"{CLUSTER_SQL}/end_parts.sql",
        "where j.tenant_id = v_part.tenant_id and j.id = v_part.job_id\n      for no key update;",
        "where j.tenant_id = v_part.tenant_id and j.id = v_part.job_id;",
        (INTERLEAVINGS,),
    ),
    Mutant(
        "renewal-under-way",
        "a part that is being renewed is not recovered",
        f"{CLUSTER_SQL}/_expire_parts.sql",
        "and p.token = v_part.token and p.expires_at <= v_now\n    for no key update skip locked",
        "and p.token = v_part.token and p.expires_at <= v_now",
        (INTERLEAVINGS,),
    ),
    Mutant(
        "stopped-node",
        "a node that stops meanwhile is not elected",
        f"{CLUSTER_SQL}/_lead.sql",
        "where n.id = p_node and n.stopped_at is null for share;",
        "where n.id = p_node;",
        (INTERLEAVINGS,),
    ),
    Mutant(
        "adoption-passes-over",
        "a node that takes up its parts waits for nobody",
        f"{CLUSTER_SQL}/_adopt_parts.sql",
        "and p.node_id = v_part.node_id\n    for no key update skip locked;",
        "and p.node_id = v_part.node_id\n    for no key update;",
        (INTERLEAVINGS,),
    ),
    Mutant(
        "closing-passes-over",
        "the closing of a job waits for nobody",
        f"{CLUSTER_SQL}/_close_cluster_jobs.sql",
        "for no key update skip locked) as p;",
        "for no key update) as p;",
        (INTERLEAVINGS,),
    ),
    Mutant(
        "duties-pass-over",
        "the leader's duties wait for nobody",
        f"{CLUSTER_SQL}/_end_stale_actions.sql",
        "for update of l skip locked",
        "for update of l",
        (INTERLEAVINGS,),
    ),
)

CLUSTER = (*_LEADERSHIP, *_PARTS, *_QUORUM, *_MEETINGS)
