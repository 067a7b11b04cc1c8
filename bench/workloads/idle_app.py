"""The application of workers that have nothing to do."""

from windlass import Windlass

app = Windlass()


@app.job(kind="bench.never")
async def never(n: int) -> None:
    """Nobody enqueues it."""
