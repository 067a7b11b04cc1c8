"""Values as they travel, for the calls that thousands of jobs a second go through.

The driver makes an object of every value it reads and takes one apart for every value it sends.  Where
nobody looks at most of them, what PostgreSQL sends is kept as it came, and sent back as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import adapters
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.pq import Format
from psycopg.types.numeric import Int8BinaryLoader
from psycopg.types.string import ByteaBinaryLoader

__all__ = ["Ids", "OurTypes", "RawTypes", "Texts"]

_ID, _TEXT = adapters.types["uuid"].oid, adapters.types["text"].oid
_ID_SIZE = (16).to_bytes(4, "big")
_NULL = (-1).to_bytes(4, "big", signed=True)


@dataclass(frozen=True, slots=True)
class Ids:
    """A `uuid[]`, each of 16 bytes."""

    values: Sequence[bytes]

    def as_array(self) -> bytes:
        """The array in PostgreSQL's binary form: dimensions, no nulls, element type, length, lower bound."""
        if not self.values:
            return _numbers(0, 0, _ID)
        return _numbers(1, 0, _ID, len(self.values), 1) + _ID_SIZE + _ID_SIZE.join(self.values)


@dataclass(frozen=True, slots=True)
class Texts:
    """A `text[]`, with nulls in it."""

    values: Sequence[str | None]

    def as_array(self) -> bytes:
        if not self.values:
            return _numbers(0, 0, _TEXT)
        parts = [_numbers(1, 1, _TEXT, len(self.values), 1)]
        for value in self.values:
            if value is None:
                parts.append(_NULL)
            else:
                encoded = value.encode()
                parts.append(len(encoded).to_bytes(4, "big"))
                parts.append(encoded)
        return b"".join(parts)


class _IdsDumper(Dumper):
    format = Format.BINARY
    oid = adapters.types["uuid"].array_oid

    def dump(self, obj: Ids | Texts) -> Buffer:
        return obj.as_array()


class _TextsDumper(_IdsDumper):
    oid = adapters.types["text"].array_oid


class OurTypes(AdaptContext):
    """What a connection of ours can send beyond what the driver knows."""

    def __init__(self) -> None:
        self._adapters = AdaptersMap(adapters)
        self._adapters.register_dumper(Ids, _IdsDumper)
        self._adapters.register_dumper(Texts, _TextsDumper)

    @property
    def adapters(self) -> AdaptersMap:
        return self._adapters

    @property
    def connection(self) -> None:
        return None


class RawTypes(OurTypes):
    """Ids and JSON documents are read as bytes, and times as microseconds since 2000."""

    def __init__(self) -> None:
        super().__init__()
        self._adapters.register_loader("uuid", ByteaBinaryLoader)
        self._adapters.register_loader("jsonb", ByteaBinaryLoader)
        self._adapters.register_loader("timestamptz", Int8BinaryLoader)


def _numbers(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "big") for value in values)
