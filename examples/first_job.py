"""A first job: a typed function, enqueued, run by a worker in the same process.

Needs a database: set WINDLASS_DATABASE_URL, or let `windlass up` run in another terminal.
"""

import asyncio

from windlass import Windlass

app = Windlass()


@app.job
async def say_hello(name: str) -> str:
    return f"Hello, {name}!"


async def main() -> None:
    async with app, app.worker():
        handle = await say_hello.enqueue("world")
        print(await handle.wait(timeout=30))


if __name__ == "__main__":
    asyncio.run(main())
