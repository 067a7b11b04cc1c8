"""Sees what the simulated database writes, word by word, and what people and handlers say; then judges.

The rules about jobs are those of `tests/chaos/checker`, which is given the same records as after a real run.
A few more are looked at with each word, because here every word is seen: who said it, and what it changed.
"""

from collections import Counter
from typing import Any

from tests.chaos.checker import History, check
from tests.simulation.core import Core
from tests.simulation.values import Job
from tests.simulation.words import (
    Cancel,
    Claim,
    ClearGate,
    Complete,
    End,
    Enqueue,
    Expire,
    Finish,
    Renew,
    SetGate,
    Word,
)

__all__ = ["Witness", "can_be_moved"]

Record = dict[str, Any]


def can_be_moved(job_id: int) -> bool:
    """Every third job may be moved and told other waits; of the rest it is known when they may start."""
    return job_id % 3 == 0


class Witness:
    """Of one world."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._history = History()
        self._grants: dict[Any, list[Record]] = {}
        self._lives: dict[int, list[int]] = {}
        self._over: dict[int, str] = {}
        self._keyed: dict[tuple[Any, ...], list[int]] = {}
        self._stopped: set[int] = set()
        self._gates: dict[tuple[Any, ...], int | None] = {}
        self._calls = 0
        self._ask: dict[int, Record] = {}
        self.found: list[str] = []
        self.seen: Counter[str] = Counter()

    # What people and handlers say

    def invoke(self, word: Enqueue, at: int) -> int:
        fields = {"tenant": word.tenant, "kind": word.kind, "max_attempts": word.max_attempts}
        if not can_be_moved(word.id):
            fields |= {"retry_wait": word.retry.base, "snooze_wait": 5_000}
        self._ask[word.id] = fields
        due = {} if can_be_moved(word.id) or word.run_at is None else {"run_at": word.run_at}
        return self._invoke("enqueue", {"job": f"{word.id}.0", **fields, **due}, at)

    def _invoke(self, verb: str, job: Record, at: int) -> int:
        self._calls += 1
        line = {"call": self._calls, "step": "invoke", "verb": verb, "jobs": [job], "mono": at}
        self._history.calls.append(line)
        return self._calls

    def answer(self, call: int, step: str, at: int) -> None:
        self._history.calls.append({"call": call, "step": step, "mono": at})

    def note(self, what: str, tenant: int, job: int, version: int, token: int, how: str = "") -> None:
        line = {"what": what, "job": job, "version": version, "token": token, "tenant": tenant, "how": how}
        self._history.ledger.append(line)

    # What the database does

    def saw(self, at: int, word: Word, answer: Any) -> None:
        """One word was executed."""
        self.seen[type(word).__name__] += 1
        notes, self._core.notes = self._core.notes, []
        for note in notes:
            getattr(self, f"_saw_{note[0]}")(at, word, *note[1:])
        if isinstance(word, Cancel) and isinstance(answer, str) and answer[:7] != "refused":
            self.answer(self._invoke("cancel", {"job": self._name(word.job)}, at), "ok", at)
            if answer == "running":
                self._stopped.add(word.job)
        elif isinstance(word, SetGate) and answer is None:
            self._gates[word[:4]] = word.until
        elif isinstance(word, ClearGate) and answer is None:
            self._gates.pop(word[:4], None)

    def _saw_job(self, at: int, word: Word, job: Job, scope: str) -> None:
        if job.key is not None:
            before = self._keyed.setdefault((job.tenant, job.kind, job.key), [])
            if before and scope == "forever":
                self.found.append(f"key twice: {job.id} was made though {before[-1]} had its key for ever")
            self._alone(job, before)
            before.append(job.id)

    def _alone(self, job: Job, others: list[int]) -> None:
        for other in others:
            if other != job.id and other not in self._over:
                self.found.append(f"key twice: {job.id} was let in while {other} with its key had not ended")

    def _saw_grant(self, at: int, word: Word, token: int, job: Job, version: int, until: int) -> None:
        facts = {"job": job.id, "version": version, "tenant": job.tenant, "token": token}
        grant = {**facts, "at": at, "claimed_at": at, "expires_at": until}
        self._history.grants.append(grant)
        self._grants.setdefault(token, []).append(grant)
        if job.id in self._stopped:
            self.found.append(f"went on: {job.id} was claimed after it was asked to stop")
        node = getattr(word, "node", None)
        lane = (job.tenant, job.queue, job.kind, node)
        for scope, closed in self._gates.items():
            open_again = closed is not None and closed <= at
            if not open_again and all(a is None or a == b for a, b in zip(scope, lane, strict=True)):
                self.found.append(f"through a gate: {job.id} was claimed by {node} at {at} behind {scope}")

    def _saw_renewal(self, at: int, word: Word, token: int, until: int) -> None:
        if not (isinstance(word, Renew) and token in word.tokens):
            self.found.append(f"without its token: the lease {token} was renewed by {word}")
        for grant in self._grants[token]:
            grant["expires_at"] = max(grant["expires_at"], until)

    def _saw_end(
        self, at: int, word: Word, token: int, job: Job, version: int, outcome: str, ends: str | None
    ) -> None:
        facts = {"job": job.id, "version": version, "tenant": job.tenant, "token": token}
        self._history.ends.append({**facts, "at": at, "finished_at": at, "outcome": outcome, "ends": ends})
        by_expiry = isinstance(word, Claim | Expire) and outcome in ("crashed", "released")
        if not by_expiry and (token, job.id) not in _tokens(word):
            self.found.append(f"without its token: version {version} of {job.id} was ended by {word}")
        if ends is not None:
            self._end(job.id, ends)

    def _saw_doubt(self, at: int, word: Word) -> None:
        self._history.ends[-1]["doubt"] = True

    def _saw_canceled(self, at: int, word: Word, job: Job) -> None:
        self._end(job.id, "canceled")

    def _end(self, job_id: int, state: str) -> None:
        self._over[job_id] = state
        self._stopped.discard(job_id)

    def _saw_revived(self, at: int, word: Word, job: Job, version: int) -> None:
        """A new life, with attempts of its own: for the checker it is another job."""
        if (before := self._over.pop(job.id, "nothing")) != "dead":
            self.found.append(f"not dead: {job.id} was revived and is {before}")
        self._history.rows.append({"job": self._name(job.id), "tenant": job.tenant, "state": before})
        self._alone(job, self._keyed.get((job.tenant, job.kind, job.key), []))
        self._lives.setdefault(job.id, [0]).append(version)
        ask = {**self._ask[job.id], "job": self._name(job.id), "max_attempts": job.max_attempts}
        self.answer(self._invoke("enqueue", ask, at), "ok", at)

    def _name(self, job_id: int) -> str:
        return f"{job_id}.{len(self._lives.get(job_id, (0,))) - 1}"

    # Judgement

    def judge(self) -> list[str]:
        """Every sentence that says who breaks which rule."""
        history = self._history
        for records in (history.ledger, history.grants, history.ends):
            for record in records:
                bases = [base for base in self._lives.get(record["job"], (0,)) if base < record["version"]]
                record["job"] = f"{record['job']}.{len(bases) - 1}"
                record["version"] -= bases[-1]
        for job in self._core.jobs.values():
            row = {"job": self._name(job.id), "tenant": job.tenant, "state": self._places(job)}
            history.rows.append(row)
        broken = [f"{rule}: {why}" for rule, whys in check(history).items() for why in whys]
        return [*self.found, *broken]

    def _places(self, job: Job) -> str:
        """From where it stands, not from what it says."""
        places = ["queued"] * sum(other is job for other in self._core.ready.values())
        places += ["scheduled"] * (job.id in self._core.scheduled)
        ended = job.ended or (job.attempts[-1].ends if job.attempts else None)
        return " and ".join([*([ended] if ended else []), *places]) or "running"


def _tokens(word: Word) -> list[tuple[int, int]]:
    if isinstance(word, Complete):
        return list(word.words)
    if isinstance(word, End):
        return [(said.token, said.job) for said in word.words]
    return [(word.token, word.job)] if isinstance(word, Finish) else []
