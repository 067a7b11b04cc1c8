"""What a database URL or a libpq connection string may say; what it cannot mean is found before it is used.

Only what has a fixed set of values is looked at: all else is for libpq to judge.  No sentence quotes what was
given: where a password was not escaped, any part of the text may be a piece of it.
"""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from windlass.errors import InvalidInput

__all__ = ["check_address"]

_URL = re.compile(r"postgres(?:ql)?://(?:[^@/]*@)?([^/?]*)(?:/[^?]*)?(?:\?(.*))?", re.DOTALL)
_PAIR = re.compile(r"(\w+)\s*=\s*('(?:\\.|[^'\\])*'|(?:\\.|[^\s\\])*)", re.DOTALL)
_VALUES: Mapping[str, tuple[str, ...]] = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "sslcertmode": ("disable", "allow", "require"),
    "sslnegotiation": ("postgres", "direct"),
    "gssencmode": ("disable", "prefer", "require"),
    "channel_binding": ("disable", "prefer", "require"),
    "load_balance_hosts": ("disable", "random"),
    "target_session_attrs": ("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
}
_NUMBERS = frozenset(
    {
        "connect_timeout",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "tcp_user_timeout",
    }
)


def check_address(address: str) -> str:
    """`address` itself, unless it says something that cannot be."""
    for keyword, value in _said(address):
        if not value:  # as good as left out
            continue
        if keyword == "port" and not all(map(_is_port, value.split(","))):
            raise InvalidInput(
                "has a port that is no number from 1 to 65535 (in a URL, the signs / : @ of a password are "
                "written as %2F %3A %40)"
            )
        if keyword in _NUMBERS and not re.fullmatch(r"\s*[+-]?[0-9]+\s*", value):
            raise InvalidInput(f"has a {keyword} that is no whole number")
        if keyword in _VALUES and value not in _VALUES[keyword]:
            raise InvalidInput(f"has a {keyword} that is none of {', '.join(_VALUES[keyword])}")
    return address


def _said(address: str) -> Iterator[tuple[str, str]]:
    url = _URL.fullmatch(address)
    if url is None:
        for keyword, value in _PAIR.findall(address):
            yield keyword, re.sub(r"\\(.)", r"\1", value[1:-1] if value.startswith("'") else value)
        return
    for host in url[1].split(","):
        yield "port", unquote(host.rpartition("]")[2].partition(":")[2])
    for pair in (url[2] or "").split("&"):
        keyword, _, value = pair.partition("=")
        yield unquote(keyword), unquote(value)


def _is_port(text: str) -> bool:
    return not text or (text.isascii() and text.isdigit() and 1 <= int(text) <= 65_535)
