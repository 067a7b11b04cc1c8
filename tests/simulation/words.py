"""What can be said to the database: each word is a value, so that a history of them can be said again."""

from typing import Any, NamedTuple, Protocol

from tests.simulation.core import Core
from tests.simulation.values import Job, Refused, Retry, Said

__all__ = [
    "Begin",
    "Cancel",
    "Claim",
    "ClearGate",
    "Complete",
    "End",
    "Enqueue",
    "Expire",
    "Finish",
    "Redrive",
    "Renew",
    "Reschedule",
    "SetGate",
    "Step",
    "Word",
    "ask",
]


class Word(Protocol):
    def tell(self, core: Core) -> Any: ...


class Step(NamedTuple):
    """One word of a history: when it was executed, and what the core answered."""

    at: int
    word: Word
    answer: Any


def ask(core: Core, word: Word) -> Any:
    """The answer; a refusal is one too."""
    try:
        return word.tell(core)
    except Refused as refusal:
        return f"refused: {refusal}"


class Enqueue(NamedTuple):
    tenant: int
    id: int
    queue: str
    kind: str
    payload: int
    priority: int
    max_attempts: int
    run_at: int | None
    key: str | None
    scope: str
    retry: Retry

    def tell(self, core: Core) -> Any:
        facts = (self.queue, self.priority, self.max_attempts, self.run_at, self.key, self.retry)
        return core.enqueue(Job(self.tenant, self.id, self.kind, self.payload, *facts), self.scope)


class Claim(NamedTuple):
    node: str
    queue: str
    kinds: tuple[str, ...] | None
    limit: int
    lease: int
    begins: bool = True

    def tell(self, core: Core) -> Any:
        return core.claim(*self)


class Begin(NamedTuple):
    words: tuple[tuple[int, int], ...]
    called: tuple[bool, ...]

    def tell(self, core: Core) -> Any:
        return core.begin(*self)


class Renew(NamedTuple):
    tokens: tuple[int, ...]
    lease: int

    def tell(self, core: Core) -> Any:
        return sorted(core.renew(*self), key=str)


class Complete(NamedTuple):
    words: tuple[tuple[int, int], ...]
    states: tuple[str, ...]
    results: tuple[Any, ...]
    tenants: tuple[int, ...] | None

    def tell(self, core: Core) -> Any:
        return core.complete(*self)


class Finish(NamedTuple):
    token: int
    job: int
    result: Any

    def tell(self, core: Core) -> Any:
        return core.finish(*self)


class End(NamedTuple):
    """Words of one verb: fail (which is also to time out and to be canceled), snooze or release."""

    verb: str
    words: tuple[Said, ...]

    def tell(self, core: Core) -> Any:
        return core.end(self.words)


class Expire(NamedTuple):
    def tell(self, core: Core) -> Any:
        return core.expire()


class Cancel(NamedTuple):
    tenant: int
    job: int
    reason: str | None

    def tell(self, core: Core) -> Any:
        return core.cancel(*self)


class Reschedule(NamedTuple):
    tenant: int
    job: int
    run_at: int | None
    priority: int | None

    def tell(self, core: Core) -> Any:
        return core.reschedule(*self)


class Redrive(NamedTuple):
    tenant: int
    job: int
    max_attempts: int | None

    def tell(self, core: Core) -> Any:
        return core.redrive(*self)


class SetGate(NamedTuple):
    tenant: int | None
    queue: str | None
    kind: str | None
    node: str | None
    until: int | None
    releases: bool

    def tell(self, core: Core) -> Any:
        return core.set_gate(*self)


class ClearGate(NamedTuple):
    tenant: int | None
    queue: str | None
    kind: str | None
    node: str | None

    def tell(self, core: Core) -> Any:
        return core.clear_gate(*self)
