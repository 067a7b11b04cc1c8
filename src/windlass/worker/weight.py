"""How large payloads are, and so how many jobs are worth having in memory before they can start."""

from collections.abc import Sequence

from windlass.model import ClaimedJob

__all__ = ["MAX_BYTES", "Weight"]

MAX_BYTES = 32 * 1024 * 1024
"""Of payloads in one claim, if they are as those before."""
_FORGETTING = 0.1


class Weight:
    """Bytes of a payload, of late: up at once where they grow, and slowly down again."""

    def __init__(self) -> None:
        self._mean = 0.0

    def note(self, jobs: Sequence[ClaimedJob]) -> None:
        """These came with one claim."""
        if jobs:
            mean = sum([len(job.payload_jsonb) for job in jobs]) / len(jobs)
            self._mean = max(mean, self._mean + (mean - self._mean) * _FORGETTING)

    def most(self) -> int:
        """How many jobs one claim should bring."""
        return max(1, int(MAX_BYTES / max(1.0, self._mean)))
