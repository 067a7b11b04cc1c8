"""The guards of cluster jobs where nodes leave, where notices are missed, and in child processes."""

from tests.mutants.catalog_cluster import CLUSTER_SQL, RECOVERY
from tests.mutants.mutant import Mutant

CHILDREN = "tests/integration/test_cluster_children.py"
COST = "tests/integration/test_cluster_cost.py"
LIFE = "tests/integration/test_cluster_life.py"

_LEAVING = (
    Mutant(
        "drained-parts",
        "a node that drains gets no new parts",
        f"{CLUSTER_SQL}/_make_parts.sql",
        "and n.draining_at is null",
        "",
        ("tests/sql/test_drain_node.py::test_a_draining_node_claims_nothing_and_hands_over",),
    ),
    Mutant(
        "drained-leader",
        "a leader that drains hands over",
        f"{CLUSTER_SQL}/tend_cluster.sql",
        "p_stand and v_node.draining_at is null and",
        "p_stand and",
        ("tests/sql/test_drain_node.py::test_a_draining_node_claims_nothing_and_hands_over",),
    ),
    Mutant(
        "dead-job-parts",
        "a dead job stops its parts that run",
        f"{CLUSTER_SQL}/_close_cluster_jobs.sql",
        "else array['queued', 'running'] end",
        "else array['queued'] end",
        (f"{RECOVERY}::test_what_becomes_of_open_parts_when_the_action_does_not_succeed",),
    ),
)

_SERVING = (
    Mutant(
        "unheard-parts",
        "where no notice is heard, a node polls for its parts",
        "cluster/pulse.py",
        "if not self._listening() or (now.busy and self._kinds):",
        "if now.busy and self._kinds:",
        (f"{LIFE}::test_where_no_notice_is_heard_the_poll_brings_the_parts",),
    ),
    Mutant(
        "spared-for-good",
        "whoever is spared looks now and then all the same",
        "worker/service.py",
        " or self._ticks % _SPARED_TICKS == 0",
        "",
        (f"{COST}::test_a_reaper_that_is_spared_works_at_every_fifth_interval",),
    ),
    Mutant(
        "action-without-leader",
        "no child is started for an action that another node leads",
        "worker/attempt.py",
        "if isinstance(prepared, Snooze):",
        "if False:",
        (f"{CHILDREN}::test_an_action_that_finds_another_leader_starts_no_child_and_is_not_counted",),
    ),
    Mutant(
        "term-in-child",
        "an action in a child has the term of its node",
        "worker/child.py",
        "prepared=order.prepared,",
        "",
        (f"{CHILDREN}::test_the_action_has_its_term_and_the_results_at_hand",),
    ),
)

NODES = (*_LEAVING, *_SERVING)
