"""An audit as tests build it, check it and tamper with it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import Connection

from tests.sql.operate import call, kill
from tests.sql.steps import DEFAULT_TENANT, Session
from tests.support import Database

Tamper = Callable[["Audit"], None]


@dataclass
class Check:
    """The last page of a whole check, with what the pages before it told."""

    fault: str | None
    message: str | None
    event_id: UUID | None
    place: int | None
    sealed: int
    unsealed: int
    head: str | None
    pages: int


def verify(
    on: Connection[Any],
    tenant: UUID = DEFAULT_TENANT,
    *,
    limit: int = 10_000,
    known: str | None = None,
) -> Check:
    sealed, unsealed, head, cursor, pages = 0, 0, None, None, 0
    while True:
        query = "select * from windlass.verify_audit(%s, %s, %s, %s)"
        (page,) = on.execute(query, (tenant, cursor, limit, known)).fetchall()
        pages += 1
        sealed, head = page.sealed if page.sealed is not None else sealed, page.head or head
        unsealed, cursor = unsealed + (page.unsealed or 0), page.cursor
        if cursor is None:
            return Check(page.fault, page.message, page.event_id, page.place, sealed, unsealed, head, pages)


def seal(db: Database) -> int:
    (row,) = call(db, "seal_events")
    return int(row.seal_events)


class Audit:
    """The default tenant's audit, behind the back of every function, in a transaction that is rolled back."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.conn: Connection[Any] = db.connect("superuser", autocommit=False)
        self.conn.execute("set session_replication_role = replica")  # no trigger refuses anything
        self.conn.commit()

    def fill(self, jobs: Session) -> None:
        """Six events of people and workers, one after the other, all sealed."""
        call(self.db, "set_gate", tenant=DEFAULT_TENANT, queue="mail", reason="fire", actor="eve")
        job_id = kill(jobs)
        seal(self.db)
        call(self.db, "redrive_jobs", tenant=DEFAULT_TENANT, everything=True, reason="mended", actor="ada")
        jobs.cancel(job_id, "not needed", "ada")
        call(self.db, "clear_gate", tenant=DEFAULT_TENANT, queue="mail", actor="bob")
        call(self.db, "set_gate", tenant=DEFAULT_TENANT, queue="mail", reason="again", actor="eve")

    def do(self, query: str, *parameters: Any) -> None:
        self.conn.execute(query.encode(), parameters or None)

    def event(self, place: int) -> UUID:
        query = "select event_id from windlass_data.seal where tenant_id = %s and place = %s"
        ((found,),) = self.conn.execute(query, (DEFAULT_TENANT, place)).fetchall()
        assert isinstance(found, UUID)
        return found

    def alter(self, place: int, column: str = "actor", value: str = "'mallory'") -> None:
        self.do(f"update windlass_data.event set {column} = {value} where id = %s", self.event(place))

    def remove(self, place: int, *tables: str) -> None:
        event = self.event(place)
        for table in tables:
            column = "id" if table == "event" else "event_id"
            self.do(f"delete from windlass_data.{table} where {column} = %s", event)

    def rehash(self, *places: int) -> None:
        """What a forger does: digest and hash of each place anew, from what is there now."""
        for place in places:
            self.do(
                "update windlass_data.seal as s set digest = windlass_data.event_digest(e),"
                " hash = windlass_data.seal_hash(coalesce((select b.hash from windlass_data.seal as b"
                " where b.tenant_id = s.tenant_id and b.place = s.place - 1), ''),"
                " s.place, windlass_data.event_digest(e))"
                " from windlass_data.event as e"
                " where e.id = s.event_id and s.tenant_id = %s and s.place = %s",
                DEFAULT_TENANT,
                place,
            )
