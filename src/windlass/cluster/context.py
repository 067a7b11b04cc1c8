"""What a leader's action may know: its term, and what the parts before it came to."""

from windlass.db.rpc_cluster import Begun
from windlass.model.cluster import Part
from windlass.worker.context import JobContext

__all__ = ["LeaderContext"]


class LeaderContext:
    """A leader's action, as its handler sees it."""

    __slots__ = ("_begun", "attempt")

    def __init__(self, attempt: JobContext, begun: Begun) -> None:
        self.attempt = attempt
        """This attempt, as the handler of any job sees its own: log, cost, finish, cancellation."""
        self._begun = begun

    @property
    def term(self) -> int:
        """It rises with every change of leaders, so writes elsewhere can be fenced by it."""
        return self._begun.term

    @property
    def parts(self) -> tuple[Part, ...]:
        """Every node's part, as it stood when the action began."""
        return self._begun.parts

    @property
    def results(self) -> dict[str, object]:
        """What the parts that succeeded returned, by the names of their nodes."""
        return {part.node_name: part.result for part in self.parts if part.state == "succeeded"}

    @property
    def needed(self) -> int:
        """How many parts make the quorum."""
        return self._begun.needed

    @property
    def verdict(self) -> str:
        """quorum, or why the action runs without one: timeout, impossible or forced."""
        return self._begun.verdict

    @property
    def warning(self) -> str | None:
        """What is recorded about a missing quorum."""
        return self._begun.warning
