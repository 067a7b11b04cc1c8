"""Generated changes after which nothing that is promised is different, each with the reason.

Named as `./run mutants --generated --list` names them; a test holds that each of them still exists.
"""

__all__ = ["EQUIVALENT"]

EQUIVALENT: dict[str, str] = {
    "sql/code/job/_describe_jobs.sql | coalesce | coalesce(r.version, s.version) as q_version, "
    "coalesce(r.counted, s.counted) as q_counted,": (
        "a job stands in one place only, so at most one of the two is there"
    ),
}
