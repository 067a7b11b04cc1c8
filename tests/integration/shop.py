"""A small application for the tests of the client: one table of its own, a few kinds of job."""

import json
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, PositiveInt

from tests.support import Database
from windlass import NewJob, Windlass
from windlass.db.call import Call
from windlass.settings import Settings

LATER = datetime(2100, 1, 1, tzinfo=UTC)
# Signs that one stack or another takes for a parameter, and that must arrive as they are.
SIGNS: Call[Any] = Call("select 8 % $1::int, '100 %s :a ::b %(c)s', $2::text", (5, ":d %e"), list)
SIGNS_ANSWER = (3, "100 %s :a ::b %(c)s", ":d %e")


class Parcel(BaseModel):
    to: str
    grams: PositiveInt = 100


class Shop:
    """Orders are rows of the application's own; each sends a parcel."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.app = Windlass(settings=Settings(database_url=db.url()))
        self.ship = self.app.job(queue="parcels")(ship)
        self.add = self.app.job(add)
        db.execute("create table orders (name text primary key)", role="superuser")
        db.execute("grant all on orders to windlass_app", role="superuser")

    def measures_nothing(self) -> None:
        """From now on the client sends payloads of any size: the database alone refuses them."""
        settings = self.app.settings.model_copy(update={"max_payload_bytes": 2**30})
        self.app = Windlass(settings=settings)

    @property
    def orders(self) -> list[str]:
        return [row.name for row in self.db.fetch("select name from orders order by name")]

    @property
    def jobs(self) -> list[str]:
        """The addresses of the parcels that are to be sent."""
        jobs = self.app.sync.list_jobs(kinds="ship", limit=1000).items
        return sorted(job.payload["to"] for job in jobs)

    def work(self, error: str | None = None, **results: Any) -> None:
        """Do the next job as a worker does: with the result given for its kind, or with an error."""
        node = "00000000-0000-7000-8000-00000000000a"
        claim = (
            "select job_id, token, kind from windlass.claim_jobs(%s, array['default', 'parcels'], null, 1)"
        )
        job = self.db.fetch_row(claim, node)
        lists = ([job.token], [job.job_id])
        if error is None:
            result = [json.dumps(results.get(job.kind))]
            self.db.fetch("select windlass.complete_jobs(%s, %s, %s::text[]::jsonb[])", *lists, result)
        else:
            errors = [json.dumps({"type": "ValueError", "message": error})]
            self.db.fetch("select windlass.fail_jobs(%s, %s, %s::text[]::jsonb[])", *lists, errors)

    def many(self) -> list[NewJob]:
        """Jobs that use everything an enqueue can say, in values that are easy to spoil on the way."""
        odd = {"text": "50 % of 'all' :that $1 %s \\ é 漢 \U0001f600", "number": 2**53 + 1, "half": 0.5}
        return [
            NewJob(kind="odd", payload=odd, run_at=LATER, key="100 %:a $2", scope="active", priority=-3),
            NewJob(kind="odd", payload=[odd, None, True], delay=90, max_attempts=7, timeout=1.5),
            NewJob(kind="odd", payload="text", trace_id="trace:1", correlation_id="50 %"),
        ]


def ship(parcel: Parcel) -> str:
    return f"{parcel.grams} g to {parcel.to}"


async def add(a: int, b: int = 1) -> int:
    return a + b
