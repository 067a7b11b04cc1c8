"""Our own connections to the database: a pool that carries out calls, on an event loop or in threads.

Both faces run the same `Call` values.  A statement that failed because its connection died is not
repeated here: whether that is safe is for the caller to know.
"""

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypedDict, TypeVar, Unpack

from psycopg import AsyncConnection, AsyncRawCursor, Connection, RawCursor
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolClosed, PoolTimeout

from windlass.db.call import Call
from windlass.db.cancel import heeding
from windlass.db.connect import Pooler, connection_parameters, driver_options, translated
from windlass.db.hot import AsyncOurConnection, OurConnection, is_new, prepare, run_hot
from windlass.db.main_program import refuse_while_reading
from windlass.errors import SchemaMismatch, Unavailable, WindlassError

__all__ = [
    "AsyncDatabase",
    "SyncDatabase",
    "run",
    "run_async",
    "run_together",
    "run_together_async",
    "survives",
]

T = TypeVar("T")


class PoolOptions(TypedDict, total=False):
    """What may be said about a pool; it opens connections as they are needed, and none before."""

    pooler: Pooler
    application_name: str
    max_size: int
    timeout: float


def _pool_arguments(
    url: str,
    pooler: Pooler = "none",
    application_name: str = "windlass",
    max_size: int = 4,
    timeout: float = 30.0,
) -> dict[str, Any]:
    parameters = connection_parameters(url, pooler=pooler, application_name=application_name)
    return {
        "kwargs": {**parameters, **driver_options(pooler)},
        "min_size": 0,
        "max_size": max_size,
        "timeout": timeout,
        "name": application_name,
        "open": False,
    }


async def run_async(connection: AsyncConnection[Any], call: Call[T]) -> T:
    """Carry out a call on an open connection of ours."""
    with heeding(), translated():
        if call.hot and isinstance(connection, AsyncOurConnection):
            async with connection.lock:
                if is_new(connection, call):
                    await connection.wait(prepare(connection, call))
                rows = await connection.wait(run_hot(connection, call))
        else:
            cursor = AsyncRawCursor(connection)
            await cursor.execute(call.text.encode(), call.values, binary=True)
            rows = await cursor.fetchall()
    return call.read(rows)


def run(connection: Connection[Any], call: Call[T]) -> T:
    with translated():
        if call.hot and isinstance(connection, OurConnection):
            with connection.lock:
                if is_new(connection, call):
                    connection.wait(prepare(connection, call))
                rows = connection.wait(run_hot(connection, call))
        else:
            cursor = RawCursor(connection)
            cursor.execute(call.text.encode(), call.values, binary=True)
            rows = cursor.fetchall()
    return call.read(rows)


async def run_together_async(connection: AsyncConnection[Any], calls: Iterable[Call[Any]]) -> list[Any]:
    """Carry out calls in one transaction; none waits for the answer to the one before.

    Not by `transaction()`, which would wait for the answer to its `begin`.
    """
    sent: list[tuple[Call[Any], AsyncRawCursor[Any]]] = []
    with heeding(), translated():
        try:
            async with connection.pipeline():
                await connection.execute("begin")
                for call in calls:
                    cursor = AsyncRawCursor(connection)
                    await cursor.execute(call.text.encode(), call.values, binary=True)
                    sent.append((call, cursor))
                await connection.execute("commit")
        except BaseException:
            if not connection.closed:
                await connection.rollback()
            raise
        return [call.read(await cursor.fetchall()) for call, cursor in sent]


def run_together(connection: Connection[Any], calls: Iterable[Call[Any]]) -> list[Any]:
    sent: list[tuple[Call[Any], RawCursor[Any]]] = []
    with translated():
        try:
            with connection.pipeline():
                connection.execute("begin")
                for call in calls:
                    cursor = RawCursor(connection)
                    cursor.execute(call.text.encode(), call.values, binary=True)
                    sent.append((call, cursor))
                connection.execute("commit")
        except BaseException:
            if not connection.closed:
                connection.rollback()
            raise
        return [call.read(cursor.fetchall()) for call, cursor in sent]


class AsyncDatabase:
    """A pool on the running event loop; use as `async with`."""

    def __init__(self, url: str, **options: Unpack[PoolOptions]) -> None:
        self._pool = AsyncConnectionPool(
            connection_class=AsyncOurConnection, **_pool_arguments(url, **options)
        )

    async def open(self) -> None:
        refuse_while_reading("opens a client")
        await self._pool.open()

    async def close(self) -> None:
        with heeding():
            await self._pool.close()

    async def __aenter__(self) -> "AsyncDatabase":
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A connection for a transaction of one's own (`async with connection.transaction()`)."""
        with translated(), _pool_errors():
            taken = await self._take()
            try:
                async with taken as connection:
                    yield connection
            finally:
                await self._pool.putconn(taken)

    async def run(self, call: Call[T]) -> T:
        """Carry out a call.  Each is a transaction by itself, so there is nothing to commit behind it."""
        with _pool_errors():
            connection = await self._take()
            try:
                return await run_async(connection, call)
            except BaseException as error:
                if not survives(connection, error):
                    await connection.close()
                raise
            finally:
                await self._pool.putconn(connection)

    async def _take(self) -> AsyncOurConnection:
        connection = None
        try:
            with heeding():
                connection = await self._pool.getconn()
        except BaseException:
            if connection is not None:
                await self._pool.putconn(connection)
            raise
        return connection


class SyncDatabase:
    """The same pool for threads; use as `with`."""

    def __init__(self, url: str, **options: Unpack[PoolOptions]) -> None:
        self._pool = ConnectionPool(connection_class=OurConnection, **_pool_arguments(url, **options))

    def open(self) -> None:
        refuse_while_reading("opens a client")
        self._pool.open()

    def close(self) -> None:
        self._pool.close()

    def __enter__(self) -> "SyncDatabase":
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def connection(self) -> Iterator[Connection[Any]]:
        with translated(), _pool_errors(), self._pool.connection() as connection:
            yield connection

    def run(self, call: Call[T]) -> T:
        with _pool_errors():
            connection = self._pool.getconn()
            try:
                return run(connection, call)
            except BaseException as error:
                if not survives(connection, error):
                    connection.close()
                raise
            finally:
                self._pool.putconn(connection)


def survives(connection: AsyncConnection[Any] | Connection[Any], error: BaseException) -> bool:
    """Whether the next call may use the same connection.

    Not after an interruption in the middle of a statement; not where the server was demoted or a
    prepared statement no longer fits its function, which only a new connection mends.
    """
    if connection.closed or not isinstance(error, WindlassError) or isinstance(error, SchemaMismatch):
        return False
    return not isinstance(error, Unavailable) or str(error.details.get("sqlstate"))[:2] in ("40", "55")


@contextmanager
def _pool_errors() -> Iterator[None]:
    try:
        yield
    except PoolTimeout:
        raise Unavailable("no connection to the database could be had in time") from None
    except PoolClosed:
        raise Unavailable("the client is closed") from None
