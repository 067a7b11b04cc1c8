"""The guards that Python holds."""

from tests.mutants.mutant import Mutant

PYTHON = (
    Mutant(
        "one-migrator",
        "two migrators at once do the work once",
        "db/migrate.py",
        'f"select pg_advisory_xact_lock({script.LOCK_KEY})"',
        '"select 1"',
        ("tests/schema/test_migrate_races.py",),
    ),
    Mutant(
        "silence-after-loss",
        "of a lost lease nothing is said",
        "worker/words.py",
        'if reason == "lease_lost":\n        return None',
        'if reason == "lease_lost":\n        return Word(job, "release")',
        ("tests/integration/test_worker_leases.py", "tests/unit/test_worker_values.py"),
    ),
    Mutant(
        "last-attempts-are-announced",
        "the database knows of a last attempt before its handler is called",
        "worker/flow.py",
        "if job.counted + 1 >= job.max_attempts:",
        "if False:",
        ("tests/integration/test_worker_begins.py",),
    ),
    Mutant(
        "marks-of-one-connection",
        "what was known of another connection's server is forgotten",
        "worker/claims.py",
        "if self._link.opened == self._opened:",
        "if True:",
        ("tests/integration/test_worker_marks.py",),
    ),
    Mutant(
        "floor-where-looked",
        "no floor passes a place at which no survey has looked",
        "worker/turns.py",
        "lane.pending = min(lane.pending, lane.mark)",
        "pass",
        ("tests/sql/test_survey_lanes.py",),
    ),
    Mutant(
        "nul-in-json",
        "JSON that the database cannot keep is refused before it is sent",
        "model/names.py",
        '_UNSTORABLE = re.compile("[\\x00\\ud800-\\udfff]")',
        '_UNSTORABLE = re.compile("[\\ud800-\\udfff]")',
        ("tests/unit/test_model_json.py",),
    ),
    Mutant(
        "unreadable-neighbour",
        "JSON that Python cannot hold hides no other job",
        "db/columns.py",
        "except (ValueError, RecursionError):\n        return value",
        "except ZeroDivisionError:\n        return value",
        ("tests/hostile/test_hostile_sql.py::test_json_that_python_would_never_send",),
    ),
    Mutant(
        "undecodable-text",
        "text that is not Unicode is refused with a code",
        "db/connect.py",
        "isinstance(error, UnicodeEncodeError)",
        "isinstance(error, ZeroDivisionError)",
        ("tests/hostile/test_hostile_client.py::test_text_that_cannot_be_stored_is_refused_everywhere",),
    ),
)
