"""The verbs of the audit's chain: one function here for one SQL function, of the same name."""

from uuid import UUID

from windlass.db.call import Call
from windlass.db.columns import Columns
from windlass.model import AuditPage

__all__ = ["seal_attempts", "seal_events", "verify_audit"]

_PAGE = Columns(
    AuditPage.from_row,
    ids="event_id",
    plain="checked cursor fault message place at sealed head unsealed",
)


def verify_audit(tenant: UUID, cursor: str | None, limit: int, known: str | None) -> Call[AuditPage]:
    """Check one page of an audit."""
    text = _PAGE.select("windlass.verify_audit($1::uuid, $2::text, $3::int, $4::text)")
    return Call(text, (tenant, cursor, limit, known), _PAGE.read_one)


def seal_events(limit: int = 10_000) -> Call[int]:
    """Seal what was left unsealed, of every tenant; how many events that were."""
    return Call("select windlass.seal_events($1::int)", (limit,), lambda rows: int(rows[0][0]))


def seal_attempts() -> Call[int]:
    """Chain how attempts ended since the last time; returns how many of them."""
    return Call("select windlass.seal_attempts()", (), lambda rows: int(rows[0][0]))
