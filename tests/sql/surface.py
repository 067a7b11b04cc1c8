"""Every function there is, read from the catalog, so that a new one is tried without being named."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import Connection, sql

from tests.support import Database

NIL = UUID(int=0)


@dataclass(frozen=True)
class Function:
    name: str
    arguments: tuple[str, ...]
    types: tuple[str, ...]
    required: int

    def call(self, conn: Connection[Any], **given: Any) -> str:
        """Everything that the caller gets to see: the rows, or the error with all its parts."""
        known = {name: given[name] for name in self.arguments if name in given}
        names = sql.SQL(", ").join(
            sql.SQL("{} => {}::{}").format(
                sql.Identifier(name), sql.Placeholder(), sql.SQL(self.types[self.arguments.index(name)])
            )
            for name in known
        )
        query = sql.SQL("select * from windlass.{}({})").format(sql.Identifier(self.name), names)
        try:
            with conn.transaction():
                return repr(conn.execute(query, list(known.values())).fetchall())
        except psycopg.Error as error:
            said = error.diag
            return repr((error.sqlstate, said.message_primary, said.message_detail, said.message_hint))

    def takes(self, *names: str) -> bool:
        return any(name in self.arguments for name in names)


def public_functions(db: Database) -> list[Function]:
    """All functions of the schema that somebody may call."""
    rows = db.fetch(
        "select p.proname, coalesce(p.proargnames[1:p.pronargs], '{}') as names, p.pronargdefaults, "
        "array(select format_type(t, null) from unnest(p.proargtypes) as t) as types "
        "from pg_proc as p where p.pronamespace = 'windlass'::regnamespace and p.proname !~ '^_' order by 1",
        role="superuser",
    )
    return [
        Function(row.proname, tuple(row.names), tuple(row.types), len(row.names) - row.pronargdefaults)
        for row in rows
    ]


@dataclass(frozen=True)
class Victim:
    """What another tenant has, and all the names by which somebody might ask for it."""

    tenant: UUID
    jobs: tuple[UUID, ...]
    tokens: tuple[UUID, ...]
    gate: UUID
    slug: str

    def guesses(self) -> Iterator[dict[str, Any]]:
        """Arguments that reach for it; each set has a value for every argument that must be given."""
        for job_id, token in zip(self.jobs, self.tokens, strict=False):
            yield arguments(job_id=job_id, token=token, gate=self.gate, slug=self.slug)


def arguments(*, job_id: UUID, token: UUID, gate: UUID, slug: str) -> dict[str, Any]:
    """A value for each name that an argument has anywhere; a function takes those that it knows."""
    return {
        "p_job": job_id,
        "p_jobs": [job_id],
        "p_token": token,
        "p_tokens": [token],
        "p_gate": gate,
        "p_slug": slug,
        "p_node": UUID(int=77),
        "p_queues": ["default", "mine"],
        "p_queue": "mine",
        "p_kind": "mine",
        "p_role": "test_reader",
        "p_mode": "strict",
        "p_weight": 2,
        "p_delays": [60.0],
        "p_cents": [5],
        "p_whats": ["mine"],
        "p_name": "mine",
        "p_keep_succeeded": "0 s",
        "p_keep_canceled": "0 s",
        "p_keep_skipped": "0 s",
        "p_keep_dead": "0 s",
    }


def fitted(function: Function, given: dict[str, Any]) -> dict[str, Any]:
    """The same arguments in the shape that this function wants."""
    fitting = dict(given)
    if function.name == "enqueue_jobs":
        fitting["p_jobs"] = '[{"kind": "mine", "payload": {}}]'
    elif function.name == "enqueue_many":
        fitting |= {"p_job": '{"kind": "mine"}', "p_payloads": "[{}]", "p_ids": [uuid4()]}
    elif function.name == "create_redrive":
        fitting["p_id"] = UUID(int=78)
    elif function.name in ("set_gate", "clear_gate"):
        fitting["p_node"] = "node"
    elif function.name == "claim_jobs":
        fitting["p_queues"] = ["default", "secret-queue"]
    elif function.name in ("list_jobs", "list_costs"):
        fitting.pop("p_queues")
    elif function.name == "set_queue":
        fitting["p_queue"] = "secret-queue"
    fitting = {name: value for name, value in fitting.items() if name in function.arguments}
    missing = [name for name in function.arguments[: function.required] if name not in fitting]
    assert missing in ([], ["p_tenant"]), f"{function.name}: nobody knows what to give for {missing}"
    return fitting
