"""The jobs of the demo: an ordinary shop's, and two that no shop wants.

What a handler does here is only to take a little time, to fail or to die.  Everything else, the retries,
the recovery and the record of it, is Windlass as anybody would use it.
"""

import asyncio
import os
import signal
import time

from windlass import JobContext, RetryPolicy, Windlass

__all__ = [
    "RELEASE",
    "app",
    "build_report",
    "charge_card",
    "import_ledger",
    "open_corrupt_scan",
    "resize_photo",
    "send_receipt",
]

RELEASE = "DEMO_RELEASE"
"""The variable that says which release of the shop's code a worker runs; the second one has the fix."""

_QUICK = RetryPolicy(base_seconds=0.2, cap_seconds=1.0, jitter="tenth")

app = Windlass()


@app.job(retry=_QUICK)
async def send_receipt(order: int) -> str:
    await asyncio.sleep(0.06)
    return f"receipt {order} sent"


@app.job(retry=_QUICK)
def resize_photo(photo: int, pixels: int = 400) -> int:
    time.sleep(0.05)
    return photo * pixels


@app.job(retry=_QUICK)
async def charge_card(ctx: JobContext, order: int, cents: int, refusals: int = 0) -> str:
    """The bank does not answer the first few times."""
    await asyncio.sleep(0.08)
    if ctx.attempt <= refusals:
        raise TimeoutError("the bank did not answer")
    await ctx.cost(2, "bank fee")
    return f"order {order}: {cents / 100:.2f} charged"


@app.job(retry=_QUICK)
async def build_report(report: int, seconds: float = 1.5) -> str:
    """Long enough that somebody can pull the plug in the middle."""
    await asyncio.sleep(seconds)
    return f"report {report} built"


@app.job(retry=_QUICK, max_attempts=2)
async def import_ledger(row: int, amount: str) -> int:
    """The first release cannot read amounts with a decimal comma; the second one can."""
    text = amount.replace(",", ".") if os.environ.get(RELEASE) == "2" else amount
    return row * round(float(text) * 100)


@app.job(retry=_QUICK, max_attempts=2)
def open_corrupt_scan(scan: int) -> None:
    """A poison job: whoever runs it is gone, at once and without a word."""
    os.kill(os.getpid(), signal.SIGKILL)
