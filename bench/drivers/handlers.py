"""Handlers that differ in one feature each, so that a drain tells what it costs.

One at a time is registered: what one kind asks for, such as durable claims, its whole worker pays.
"""

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from windlass import JobContext, Windlass

__all__ = ["VARIANTS", "make_app"]

Ran = Callable[[int], None]


class Letter(BaseModel):
    """The payload as a model."""

    n: int
    to: str
    text: str


def plain(ran: Ran) -> Callable[..., Any]:
    async def send(n: int, to: str, text: str) -> None:
        ran(n)

    return send


def unchecked(ran: Ran) -> Callable[..., Any]:
    async def send(n: Any, to: Any, text: Any) -> None:
        ran(n)

    return send


def context(ran: Ran) -> Callable[..., Any]:
    async def send(ctx: JobContext, n: int, to: str, text: str) -> None:
        ran(n)

    return send


def model(ran: Ran) -> Callable[..., Any]:
    async def send(letter: Letter) -> None:
        ran(letter.n)

    return send


def result(ran: Ran) -> Callable[..., Any]:
    async def send(n: int, to: str, text: str) -> dict[str, Any]:
        ran(n)
        return {"n": n, "to": to}

    return send


def thread(ran: Ran) -> Callable[..., Any]:
    def send(n: int, to: str, text: str) -> None:
        ran(n)

    return send


VARIANTS = {
    "plain": plain,
    "unchecked": unchecked,
    "context": context,
    "model": model,
    "result": result,
    "thread": thread,
    "logging": plain,
    "telemetry": plain,
}


def make_app(variant: str, ran: Ran, kind: str, queue: str, **options: Any) -> Windlass:
    app = Windlass(**options)
    app.job(kind=kind, queue=queue)(VARIANTS[variant](ran))
    return app
