"""Ids that a caller makes for itself: UUID version 7 (RFC 9562), ordered by time."""

import secrets
import time
from uuid import UUID


def uuid7(now_ns: int | None = None) -> UUID:
    """A new id: 48 bits of milliseconds, 12 bits of their fraction, 62 random bits.

    The fraction keeps ids made within one millisecond in order, as the database's own do.  Order
    across machines is only as good as their clocks, and nothing may rest on it.
    """
    milliseconds, rest = divmod(time.time_ns() if now_ns is None else now_ns, 1_000_000)
    fraction = (rest << 12) // 1_000_000
    value = (milliseconds & (1 << 48) - 1) << 80
    value |= 0x7 << 76 | fraction << 64
    value |= 0b10 << 62 | secrets.randbits(62)
    return UUID(int=value)
