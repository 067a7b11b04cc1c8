"""The life of jobs as a value: what the SQL functions decide, with nothing but Python.

No clock, no chance, no input and no output: time is what `now` says, in whole milliseconds, and tokens are
what `tokens` yields.  Each public method is one word to the database, and takes effect as a whole or, where
it raises `Refused`, not at all.  A job's state follows from its place, as it does in the tables.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from tests.simulation.lines import Lines
from tests.simulation.values import COUNTLESS, SUCCESS, TERMINAL, Attempt, Job, Lease, Refused, Row, Said

__all__ = ["LEASE_EXPIRED", "Core"]

LEASE_EXPIRED = "LeaseExpired"


class Core(Lines):
    """One database."""

    def claim(
        self,
        node: str,
        queue: str,
        kinds: Sequence[str] | None,
        limit: int,
        lease: int,
        begins: bool = False,
    ) -> list[tuple[Any, ...]]:
        """From a queue that one tenant uses: where several do, chance shares out, and `take` is told."""
        self.promote()
        line = self.line(node, queue, kinds)
        if not line and self.expire():
            line = self.line(node, queue, kinds)
        return self.take(node, line[:limit], lease, begins=begins)

    # The words about a running job

    def begin(self, words: Sequence[tuple[Any, Any]], called: Sequence[bool]) -> list[tuple[Any, str]]:
        """The words that were refused."""
        refused = []
        for (token, job_id), was in zip(words, called, strict=True):
            held = self._held(token, job_id)
            if held is None:
                refused.append((job_id, "lease_lost"))
            elif held.begins is not None:
                (held.begun if was else held.begins).add(job_id)
        return refused

    def renew(self, tokens: Iterable[Any], lease: int) -> list[tuple[Any, Any, str]]:
        told: list[tuple[Any, Any, str]] = []
        for token in tokens:
            held = self._lease_of(token)
            if held is None:
                told.append((token, None, "lease_lost"))
                continue
            held.expires_at = self.now + lease
            self.notes.append(("renewal", held.token, held.expires_at))
            tenant, queue, kind, _ = held.lane
            gates = self._gates_on(tenant, queue, kind, held.node)
            for job_id in (job_id for job_id in held.jobs if self._runs(held, job_id)):
                if self.jobs[job_id].cancel_requested:
                    told.append((token, job_id, "cancel_requested"))
                if gates:
                    release = any(gate.releases for gate in gates)
                    told.append((token, job_id, "release_requested" if release else "gated"))
        return told

    def complete(
        self,
        words: Sequence[tuple[Any, Any]],
        states: Sequence[str],
        results: Sequence[Any],
        tenants: Sequence[Any] | None = None,
    ) -> list[tuple[Any, str]]:
        """The words that were refused; not a success that this very token wrote, if its tenant is named."""
        ended: dict[Any, set[Any]] = {}
        for (token, job_id), state, result in zip(words, states, results, strict=True):
            held = self._held(token, job_id)
            if held is not None:
                self._write(held, job_id, state, state, result=result)
                self.jobs[job_id].cancel_requested = False
                ended.setdefault(token, set()).add(job_id)
        for token, jobs in ended.items():
            self.leases[token].open -= len(jobs)
            if self.leases[token].open <= 0:
                del self.leases[token]
        refused = [place for place, (token, job_id) in enumerate(words) if job_id not in ended.get(token, ())]
        if refused:
            self._settle(token for token, _ in words)
        return [
            (words[place][1], "lease_lost")
            for place in refused
            if not (tenants and self._succeeded_by(*words[place], tenants[place]))
        ]

    def finish(self, token: Any, job_id: Any, result: Any) -> None:
        """In the handler's own transaction: the lease is settled by the report that follows."""
        held = self._held(token, job_id)
        if held is None:
            raise Refused("WL003")
        self._write(held, job_id, "succeeded", "succeeded", result=result)

    def end(self, words: Sequence[Said]) -> list[Row]:
        """Fail, time out, cancel, snooze or release: what becomes of each job follows."""
        rows = []
        for word in words:
            held = self._held(word.token, word.job)
            rows.append(Row(word.job, "lease_lost") if held is None else self._end(held, word))
        self._settle(word.token for word in words)
        return rows

    def _end(self, held: Lease, word: Said) -> Row:
        job = self.jobs[word.job]
        counted = held.jobs[word.job][1] + (1 if self._counts(word.outcome) else 0)
        ends = self._ends(job, word.outcome, counted)
        self._write(held, word.job, word.outcome, ends, error=word.error)
        if word.doubt:
            job.attempts[-1].doubt = True
            self.notes.append(("doubt",))
        if ends is not None:
            job.cancel_requested = False
            return Row(job.id, "ok", ends)
        wait = word.delay or 0
        if word.delay is None and word.outcome in ("failed", "timed_out"):
            wait = job.retry.wait(counted)
        job.counted = counted
        self._stand(job, self.now + wait if wait > 0 else None)
        return Row(job.id, "ok", "queued", self.now + wait)

    def _ends(self, job: Job, outcome: str, counted: int) -> str | None:
        if outcome == "canceled" or job.cancel_requested:
            return "canceled"
        used_up = counted >= job.max_attempts
        return "dead" if used_up and outcome in ("failed", "timed_out", "crashed") else None

    def _counts(self, outcome: str) -> bool:
        return outcome not in COUNTLESS

    def _write(
        self, held: Lease, job_id: Any, outcome: str, ends: str | None, result: Any = None, error: Any = None
    ) -> None:
        version, counted = held.jobs[job_id]
        counted += self._counts(outcome)
        facts = (version, counted, held.token, held.node, held.claimed_at, self.now)
        self.jobs[job_id].attempts.append(Attempt(*facts, outcome, ends, result, error))
        self.notes.append(("end", held.token, self.jobs[job_id], version, outcome, ends))

    def _lease_of(self, token: Any) -> Lease | None:
        return self.leases.get(token)

    def lease_on(self, job: Job) -> Lease | None:
        """The one that a running job is held by."""
        return next((held for held in self.leases.values() if self._runs(held, job.id)), None)

    def _held(self, token: Any, job_id: Any) -> Lease | None:
        """The lease, where a word with this token counts."""
        held = self.leases.get(token)
        return held if held is not None and self._runs(held, job_id) else None

    def _runs(self, held: Lease, job_id: Any) -> bool:
        """Whether its attempt is still to be written."""
        if job_id not in held.jobs:
            return False
        attempts = self.jobs[job_id].attempts
        return not attempts or attempts[-1].version < held.jobs[job_id][0]

    def _succeeded_by(self, token: Any, job_id: Any, tenant: Any) -> bool:
        job = self.jobs.get(job_id)
        return job is not None and any(
            job.tenant == tenant and a.token == token and a.outcome in SUCCESS for a in job.attempts
        )

    def _settle(self, tokens: Iterable[Any]) -> None:
        for token in tokens:
            if (held := self.leases.get(token)) is not None:
                held.open = sum(self._runs(held, job_id) for job_id in held.jobs)
                if not held.open:
                    del self.leases[token]

    def expire(self) -> list[tuple[Any, str]]:
        """Recover what is overdue, in the order in which it was enqueued."""
        overdue = [held for held in self.leases.values() if self._overdue(held)]
        words = [self._abandoned(held, job_id) for held in overdue for job_id in held.jobs]
        rows = self.end(sorted(words, key=lambda word: word.job))
        return [(row.job, row.state or "") for row in rows if row.code == "ok"]

    def _abandoned(self, held: Lease, job_id: Any) -> Said:
        """It has crashed, unless it was the last attempt and not begun; in doubt it is so once."""
        job, counted = self.jobs[job_id], held.jobs[job_id][1]
        word = Said(held.token, job_id, "crashed", error=LEASE_EXPIRED)
        if held.begins is None or job_id in held.begun or counted + 1 < job.max_attempts:
            return word
        if job_id not in held.begins:
            return word._replace(outcome="released")
        before = [attempt for attempt in job.attempts if attempt.doubt or not _unbegun(attempt)]
        if before and before[-1].doubt:
            return word
        return word._replace(outcome="released", doubt=True)

    def _overdue(self, held: Lease) -> bool:
        return held.expires_at < self.now

    # Producers and operators

    def _find(self, tenant: Any, job_id: Any) -> Job:
        job = self.jobs.get(job_id)
        if job is None or job.tenant != tenant:
            raise Refused("WL001")
        return job

    def cancel(self, tenant: Any, job_id: Any, reason: str | None = None) -> str:
        job = self._find(tenant, job_id)
        if self._leave_line(job):
            job.ended, job.ended_at, job.ended_reason = "canceled", self.now, reason
            self.notes.append(("canceled", job))
        state = self.state(job)
        if state == "running":
            job.reasons.append(reason)
            job.cancel_requested = True
        elif state != "canceled":
            raise Refused("WL004")
        return state

    def reschedule(self, tenant: Any, job_id: Any, run_at: int | None, priority: int | None) -> int:
        job = self._find(tenant, job_id)
        if self.state(job) != "queued":
            raise Refused("WL004")
        keeps = run_at is None and priority is not None  # its time
        until = self.scheduled.get(job.id, self.now) if keeps else max(run_at or self.now, self.now)
        due = until <= self.now
        if not (
            due and job.seq in self.ready and priority in (None, job.priority)
        ):  # else it keeps its place
            self._leave_line(job)
            job.priority = job.priority if priority is None else priority
            self._stand(job, None if due else until)
        if not keeps:
            job.run_at = until
        elif due:
            return job.created_at if job.run_at is None else job.run_at
        return until

    def redrive(self, tenant: Any, job_id: Any, max_attempts: int | None = None) -> Any:
        job = self._find(tenant, job_id)
        if not self._is_dead(job):
            raise Refused("WL004")
        if job.key is not None:
            holder = self.keys[tenant, job.kind, job.key]
            if holder is not job and self.state(holder) not in TERMINAL:
                raise Refused("WL002")
            self.keys[tenant, job.kind, job.key] = job
        job.attempts[-1].ends = None
        job.counted, job.max_attempts = 0, max_attempts or job.max_attempts
        self._stand(job, None)
        self.notes.append(("revived", job, job.version))
        return job.id

    def _is_dead(self, job: Job) -> bool:
        return self.state(job) == "dead"


def _unbegun(attempt: Attempt) -> bool:
    """Given back by expiry: whoever held it had not begun."""
    return attempt.outcome == "released" and attempt.error == LEASE_EXPIRED
