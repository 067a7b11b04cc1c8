"""Which settings of a login Windlass cannot work with; whatever else is set is honoured or does no harm."""

from typing import Any

from windlass.db.connect import translated

__all__ = ["harmful_setting"]

# The third came with a minor release of each version.
_SETTINGS = """
select current_setting('array_nulls'), current_setting('row_security'),
  current_setting('restrict_nonsystem_relation_kind', true),
  current_setting('default_transaction_read_only'), current_setting('default_transaction_isolation')"""

_OLD_SNAPSHOTS = (
    ", and behind a pooler Windlass can set no other: nothing is removed after its retention, and lanes, "
    "keys and limits wait."
)


def harmful_setting(connection: Any) -> tuple[str, str] | None:
    """The name of such a setting, and the end of a sentence that says what becomes of it."""
    with translated():
        row = connection.execute(_SETTINGS, prepare=False).fetchone()
    nulls, security, kinds, read_only, isolation = row
    if nulls == "off":
        return "array_nulls", "off for this login: what a worker says about its jobs is refused."
    if security == "off":
        return "row_security", "off for this login: with it PostgreSQL refuses every call of Windlass."
    if "view" in (kinds or ""):
        return "restrict_nonsystem_relation_kind", f"{kinds} for this login: the views cannot be read."
    if read_only == "on":
        return "default_transaction_read_only", "on for this login: nothing can be written."
    if isolation not in ("read committed", "read uncommitted"):  # seen where we may not set it ourselves
        return "default_transaction_isolation", f"{isolation} for this login{_OLD_SNAPSHOTS}"
    return None
