"""A driver of the bench that does not do what it says: it proves that the bench would notice."""

from typing import Any

from bench.drivers.floor import Floor
from bench.drivers.protocol import main


class Careless(Floor):
    """`skip`: one job is completed without its handler; `forget`: one is handled and never completed."""

    async def _handle(self, payload: dict[str, Any]) -> None:
        if self.config.get("skip") and payload["n"] == 7:
            self.tally.handled += 1
            return
        await super()._handle(payload)

    async def _run(self, rows: list[Any]) -> None:
        await super()._run(rows)
        if self.config.get("forget"):
            rows.pop()


if __name__ == "__main__":
    main(Careless)
