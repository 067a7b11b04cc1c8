"""What a worker remembers of one line, and of those that take their turns together."""

__all__ = ["Flow", "Lane"]


class Flow:
    """What takes turns: a tenant's part of a queue, or a strict queue as a whole."""

    __slots__ = ("credit", "lanes", "name", "one_line", "queued", "weight")

    def __init__(self, name: str, weight: int, one_line: bool) -> None:
        self.name = name
        self.weight = weight
        self.one_line = one_line
        self.lanes: list[Lane] = []
        self.credit = 0
        """Jobs that it may still take before its turn is over."""
        self.queued = False


class Lane:
    """One line: up to `floor` nothing can be in it any more, up to `mark` nothing was left that was seen."""

    __slots__ = ("ahead", "floor", "flow", "id", "mark", "noted", "pending", "priority", "wet")

    def __init__(self, lane_id: int) -> None:
        self.id = lane_id
        self.flow: Flow | None = None
        self.priority = 0
        self.floor = 0
        self.mark = 0
        self.ahead = 0
        """Jobs taken after the mark."""
        self.noted = 0
        """The mark after the latest survey: places before it were taken by transactions older than the next.
        """
        self.pending = 0
        """The mark that becomes the floor when all transactions of its time have ended."""
        self.wet = True
        """Whether something may be in line after the mark."""
