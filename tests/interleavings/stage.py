"""Two sessions that say one verb each about one job, stopped where a test wants them stopped."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol
from uuid import UUID

import psycopg

from tests.interleavings.meeting import JOB, Meeting
from tests.interleavings.verbs import SAID_FIRST, SAID_SECOND, VERBS, Verb
from tests.sql.steps import DEFAULT_TENANT, NODE, Session
from tests.sql.two import DEADLINE, Ending, Running, Step, attempt
from tests.support import Database

# What a third session does to stop whoever comes by; it takes everything back later.
STOPS: Mapping[str, str] = {
    "the job row": "select from windlass_data.job where id = %(job)s for update",
    "the lease": "select from windlass_data.lease where %(job)s = any (job_ids) for update",
    "the place in line": "select from windlass_data.ready where job_id = %(job)s for update",
    "the time": "select from windlass_data.scheduled where job_id = %(job)s for update",
    "the key": "select from windlass_data.idempotency_key for update",
    "the attempt's key": "insert into windlass_data.attempt (tenant_id, job_id, version, counted, node_id, "
    "token, started_at, finished_at, outcome) "
    "values (%(tenant)s, %(job)s, 1, 1, %(node)s, %(node)s, now(), now(), 'failed') on conflict do nothing",
    "the request": "insert into windlass_data.cancel_request (tenant_id, job_id, requested_at) "
    "values (%(tenant)s, %(job)s, now()) on conflict do nothing",
    "the first change of a job": "lock table windlass_data.job in share mode",
    "the first change of a line": "lock table windlass_data.ready, windlass_data.scheduled in share mode",
    "the first change of a lease": "lock table windlass_data.lease in share mode",
    "the first new attempt": "lock table windlass_data.attempt in share mode",
    "the first event": "lock table windlass_data.event in share mode",
}


LOST = repr("WL003")


class Arranged(Protocol):
    """What two verbs meet on."""

    def arrange(self, situation: str, *, alone: bool = False) -> None: ...

    def look(self) -> frozenset[str]: ...


class Player(Running):
    """A statement under way that can be asked whether it has ended."""

    def has_ended(self) -> bool:
        self._thread.join(0.001)
        return not self._thread.is_alive()


@dataclass(frozen=True)
class Outcome:
    """What both were told, and everything that is true afterwards."""

    first: str
    second: str
    facts: frozenset[str]


# What comes of one verb after another, by situation, verbs and order: found out once, compared with often.
Known = dict[tuple[str, str, str, str], Outcome]


class Stage:
    """Plays verbs on one database, one after the other or against each other."""

    def __init__(
        self,
        db: Database,
        meeting: Arranged | None = None,
        verbs: Mapping[str, Verb] = VERBS,
        stops: Mapping[str, str] = STOPS,
        known: Known | None = None,
    ) -> None:
        self.db = db
        self.meeting = Meeting(db, Session(db.connection())) if meeting is None else meeting
        self.verbs = verbs
        self.stops = stops
        self._first = Session(db.connect(autocommit=False))
        self._second = Session(db.connect(autocommit=False))
        self._stopper = db.connect("superuser", autocommit=False)
        self._known: Known = {} if known is None else known

    def serial(self, situation: str, first: str, second: str, order: str = "12") -> Outcome:
        """One after the other, each with its own commit: "12", "21", or "121" where one speaks twice."""
        known = (situation, first, second, order)
        if known not in self._known:
            self._arrange(situation, first, second)
            said: dict[str, list[Any]] = {"1": [], "2": []}
            for place in order:
                session, verb, mine = self._role(place, first, second)
                said[place].append(self._say(session, verb, mine))
            told = [_joined(self.verbs[verb], said[place]) for place, verb in (("1", first), ("2", second))]
            self._known[known] = Outcome(repr(told[0]), repr(told[1]), self.meeting.look())
        return self._known[known]

    def orders(self, situation: str, first: str, second: str, stop: str | None = None) -> Iterator[Outcome]:
        """Every outcome that has an explanation.  Who passes over what is held may speak before and after.

        While somebody holds the lease as an expiry does, a transactional finish is refused.
        """
        yield self.serial(situation, first, second, "12")
        yield self.serial(situation, first, second, "21")
        if self.verbs[first].passes:
            yield self.serial(situation, first, second, "121")
        if self.verbs[second].passes:
            yield self.serial(situation, first, second, "212")
        if stop == "the lease" and first == "finish":
            yield replace(self.serial(situation, first, second, "2"), first=LOST)
        if stop == "the lease" and second == "finish":
            yield replace(self.serial(situation, first, second, "1"), second=LOST)
        if stop == "the lease" and first == second == "finish":
            yield replace(self.serial(situation, first, second, ""), first=LOST, second=LOST)

    def before_commit(self, situation: str, first: str, second: str, ending: Ending) -> tuple[Outcome, bool]:
        """The second speaks while the first has said all but its commit; also, whether it had to wait."""
        self._arrange(situation, first, second)
        told = attempt(self._first, self._step(first, SAID_FIRST))
        running = Player(self.db, self._second, self._step(second, SAID_SECOND))
        waited = running.waits()
        self._first.conn.commit() if ending == "commit" else self._first.conn.rollback()
        answer = self._settle(self._second, second, SAID_SECOND, running.result())
        return Outcome(repr(told), repr(answer), self.meeting.look()), waited

    def at(self, stop: str, situation: str, first: str, second: str) -> Outcome | None:
        """The second speaks while the first is stopped in the middle, or made to pass over something there.

        None if neither happens: the first answers as if nobody were in its way.
        """
        alone = self.serial(situation, first, second, "1").first
        self._arrange(situation, first, second)
        with self._stopped(stop):
            one = Player(self.db, self._first, self._step(first, SAID_FIRST))
            if not one.waits() and repr(one.result()) == alone:
                self._first.conn.rollback()
                return None
            two = Player(self.db, self._second, self._step(second, SAID_SECOND))
            two.waits()
        told = self._end_both(((one, self._first), (two, self._second)))
        answers = [
            self._settle(self._first, first, SAID_FIRST, told[0]),
            self._settle(self._second, second, SAID_SECOND, told[1]),
        ]
        return Outcome(repr(answers[0]), repr(answers[1]), self.meeting.look())

    def _arrange(self, situation: str, first: str, second: str) -> None:
        """A claim that passes over the job would still take the one beside it; so the job is alone then."""
        self.meeting.arrange(situation, alone="claim" in (first, second))

    def _role(self, place: str, first: str, second: str) -> tuple[Session, str, UUID]:
        return (self._first, first, SAID_FIRST) if place == "1" else (self._second, second, SAID_SECOND)

    def _say(self, session: Session, verb: str, mine: UUID) -> Any:
        answer = attempt(session, self._step(verb, mine))
        if isinstance(answer, psycopg.Error):
            raise answer
        session.conn.rollback() if _refused(answer) else session.conn.commit()
        return answer

    def _settle(self, session: Session, verb: str, mine: UUID, answer: Any) -> Any:
        """End the transaction.  Who waited too long, or passed over what somebody held, asks again."""
        if isinstance(answer, psycopg.errors.LockNotAvailable):
            session.conn.rollback()
            return self._say(session, verb, mine)
        if isinstance(answer, psycopg.Error):
            raise answer
        session.conn.rollback() if _refused(answer) else session.conn.commit()
        if not self.verbs[verb].passes:
            return answer
        return _joined(self.verbs[verb], [answer, self._say(session, verb, mine)])

    def _end_both(self, players: tuple[tuple[Player, Session], ...]) -> list[Any]:
        """Commit each as soon as it has said its verb: the other may be waiting for that."""
        told: dict[int, Any] = {}
        deadline = time.monotonic() + DEADLINE
        while len(told) < len(players):
            assert time.monotonic() < deadline, "the two wait for each other"
            for place, (running, session) in enumerate(players):
                if place not in told and running.has_ended():
                    told[place] = running.result()
                    failed = isinstance(told[place], psycopg.Error) or _refused(told[place])
                    session.conn.rollback() if failed else session.conn.commit()
        return [told[place] for place in range(len(players))]

    @contextmanager
    def _stopped(self, stop: str) -> Iterator[None]:
        given = {"job": JOB, "tenant": DEFAULT_TENANT, "node": NODE}
        self._stopper.execute(self.stops[stop].encode(), given if "%(" in self.stops[stop] else None)
        try:
            yield
        finally:
            self._stopper.rollback()

    def _step(self, verb: str, mine: UUID) -> Step:
        return lambda session: self.verbs[verb].say(session, self.meeting, mine)


def _joined(verb: Verb, answers: list[Any]) -> Any:
    """One answer for a verb that was said twice: all that it moved, or what holds now."""
    if len(answers) < 2 or verb.latest:
        return answers[-1] if answers else None
    return sorted(item for answer in answers for item in answer)


def _refused(answer: Any) -> bool:
    return isinstance(answer, str) and answer.startswith("WL")
