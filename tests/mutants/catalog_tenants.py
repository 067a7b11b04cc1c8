"""The guards between tenants."""

from tests.mutants.mutant import Mutant

TENANCY = ("tests/sql/test_tenancy.py",)

TENANTS = (
    Mutant(
        "bound-words",
        "a bound worker speaks of its own tenant's jobs only",
        "sql/code/lease/_held_jobs.sql",
        "where l.id = any (p_tokens) and (v_bound is null or l.tenant_id = v_bound)",
        "where l.id = any (p_tokens)",
        TENANCY,
    ),
    Mutant(
        "bound-claim",
        "a bound worker claims its own tenant's jobs only",
        "sql/code/lease/_open_lanes.sql",
        "and (v_bound is null or b.tenant_id = v_bound)\n",
        "",
        TENANCY,
    ),
    Mutant(
        "bound-expiry",
        "a bound role expires its own tenant's leases only",
        "sql/code/lease/expire_leases.sql",
        "and (v_bound is null or l.tenant_id = v_bound)",
        "",
        TENANCY,
    ),
    Mutant(
        "bound-name",
        "a bound role cannot name another tenant",
        "sql/code/tenant/_enter_tenant.sql",
        "elsif v_bound is not null and v_bound <> p_tenant then",
        "elsif false then",
        (*TENANCY, "tests/sql/test_bind_role.py"),
    ),
    Mutant(
        "bound-lone-enqueue",
        "a bound role cannot enqueue for another tenant where that has such a lane",
        "sql/code/job/enqueue_job.sql",
        "if v_bound and windlass_data.bound_tenant() <> p_tenant then",
        "if false then",
        ("tests/sql/test_bind_role.py",),
    ),
    Mutant(
        "tenant-policy",
        "row-level security lets one tenant through",
        "sql/migrations/0002_tenants.sql",
        "on windlass_data.%I using (tenant_id = (select windlass_data.current_tenant())) '",
        "on windlass_data.%I using (true) '",
        ("tests/sql/test_role_rights.py",),
    ),
    Mutant(
        "forced-row-security",
        "row-level security holds the owner too",
        "sql/migrations/0002_tenants.sql",
        "execute format('alter table windlass_data.%I force row level security', v_table);",
        "",
        ("tests/schema/test_catalog.py", "tests/sql/test_role_rights.py"),
    ),
    Mutant(
        "closed-to-public",
        "nobody may call what was not granted",
        "db/script.py",
        "revoke all on all routines in schema windlass, windlass_data from public;\n",
        "",
        ("tests/schema/test_catalog.py", "tests/sql/test_role_rights.py"),
    ),
    Mutant(
        "search-path",
        "a caller cannot put objects of its own in the way",
        "sql/code/job/cancel_job.sql",
        "set search_path = pg_catalog, pg_temp\n",
        "",
        ("tests/schema/test_catalog.py", "tests/sql/test_search_path.py"),
    ),
)
