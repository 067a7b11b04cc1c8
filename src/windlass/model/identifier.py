"""Ids that a caller makes for itself: UUID version 7 (RFC 9562), ordered by time."""

import secrets
import struct
import time
from uuid import UUID

_VERSION_AND_VARIANT = 0x7 << 76 | 0b10 << 62


def uuid7(now_ns: int | None = None) -> UUID:
    """A new id: 48 bits of milliseconds, 12 bits of their fraction, 62 random bits.

    The fraction keeps ids made within one millisecond in order, as the database's own do.  Order
    across machines is only as good as their clocks, and nothing may rest on it.
    """
    return UUID(int=_moment(now_ns) | secrets.randbits(62))


def uuid7_many(count: int, now_ns: int | None = None) -> list[UUID]:
    """So many new ids of one moment, in rising order: random bits are cheap only in large portions."""
    moment = _moment(now_ns)
    randoms = struct.unpack(f">{count}Q", secrets.token_bytes(8 * count))
    return [UUID(int=moment | random >> 2) for random in sorted(randoms)]


def _moment(now_ns: int | None) -> int:
    milliseconds, rest = divmod(time.time_ns() if now_ns is None else now_ns, 1_000_000)
    fraction = (rest << 12) // 1_000_000
    return (milliseconds & (1 << 48) - 1) << 80 | fraction << 64 | _VERSION_AND_VARIANT
