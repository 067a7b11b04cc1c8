"""The guards of the ledger."""

from tests.mutants.mutant import Mutant

COSTS = (
    Mutant(
        "cost-of-an-open-attempt",
        "a cost counts only while the attempt is not written",
        "sql/code/cost/_note_words.sql",
        "and a.version is null and",
        "and",
        ("tests/sql/test_fencing.py",),
    ),
    Mutant(
        "cost-shares-the-lease",
        "no lease expires while a cost is written under it",
        "sql/code/cost/record_costs.sql",
        "perform from windlass_data.lease as l where l.id = any (p_tokens) order by l.id for key share;",
        "",
        ("tests/sql/test_record_costs.py",),
    ),
    Mutant(
        "cost-once",
        "a cost said again is not added to the sums again",
        "sql/code/cost/_note_costs.sql",
        "where s.what is null or e.id is not null",
        "",
        ("tests/sql/test_record_costs.py",),
    ),
    Mutant(
        "one-folder",
        "of two who fold at once the second does nothing",
        "sql/code/cost/fold_costs.sql",
        "not pg_try_advisory_xact_lock(hashtextextended('windlass.fold_costs', 0))",
        "false",
        ("tests/sql/test_fold_costs.py",),
    ),
    Mutant(
        "sums-with-the-latest",
        "a sum has what is not folded yet",
        "sql/code/cost/list_costs.sql",
        "      union all\n      select d.* from windlass_data.cost_delta as d\n",
        "",
        ("tests/sql/test_list_costs.py",),
    ),
    Mutant(
        "bound-costs",
        "a bound role reads its own tenant's costs only",
        "sql/code/cost/list_costs.sql",
        "windlass._confine(p_tenant)",
        "p_tenant",
        ("tests/sql/test_list_costs.py",),
    ),
    Mutant(
        "kept-entries",
        "a job that outlives its day keeps its entries",
        "sql/code/cost/_forget_costs.sql",
        "and not exists (select from windlass_data.job as j where j.tenant_id = c.tenant_id "
        "and j.id = c.job_id)",
        "",
        ("tests/sql/test_fold_costs.py",),
    ),
    Mutant(
        "accepted-costs",
        "the cost of a refused word is in no sum",
        "sql/code/cost/_end_with_costs.sql",
        "if code = 'ok' and p_costs",
        "if p_costs",
        ("tests/sql/test_cost_outcomes.py",),
    ),
    Mutant(
        "cost-before-outcome",
        "a cost that was not awaited is written before the outcome is reported",
        "worker/handler.py",
        "word = _unless_unpaid(word, await context.settle(), limits)",
        "pass",
        ("tests/integration/test_worker_costs.py",),
    ),
    Mutant(
        "same-ids-again",
        "a batch of costs without an answer is said again in the same words",
        "worker/costs.py",
        "[entry.id_bytes for entry in entries]",
        "[uuid7().bytes for entry in entries]",
        ("tests/integration/test_worker_costs.py",),
    ),
)
