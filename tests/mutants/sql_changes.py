"""Small changes of SQL functions, by rule: a comparison off by one, a conjunct less, a statement less.

Works on the text with comments and literals blanked.  A rule may make something that PostgreSQL refuses to
compile; whoever runs it leaves that out.
"""

import re
from collections.abc import Callable, Iterator

from tests.mutants.change import Change, changes_of, mask_sql

__all__ = ["sql_changes"]

Found = Iterator[tuple[str, int, int, str]]

_SWAPS: tuple[tuple[str, str, str], ...] = (
    ("compare", r"(?<= )<(?= )", "<="),
    ("compare", r"(?<= )<=(?= )", "<"),
    ("compare", r"(?<= )>(?= )", ">="),
    ("compare", r"(?<= )>=(?= )", ">"),
    ("equal", r"(?<= )<>(?= )", "="),
    ("null", r"\bis not null\b", "is null"),
    ("null", r"\bis null\b", "is not null"),
    ("distinct", r"\bis not distinct from\b", "is distinct from"),
    ("distinct", r"\bis distinct from\b", "is not distinct from"),
    ("logic", r"\bor\b", "and"),
    ("sign", r"(?<= )\+(?= )", "-"),
    ("sign", r"(?<= )-(?= )", "+"),
    ("exists", r"\bnot exists\b", "exists"),
    ("exists", r"(?<!not )\bexists\b", "not exists"),
    ("bounds", r"\bnot between\b", "between"),
    ("extreme", r"\bgreatest\(", "least("),
    ("extreme", r"\bleast\(", "greatest("),
    ("extreme", r"\bmin\(", "max("),
    ("extreme", r"\bmax\(", "min("),
    ("order", r" desc\b", ""),
    ("join", r"\bleft join\b", "join"),
    ("lock", r" skip locked\b", ""),
    ("truth", r"\btrue\b", "false"),
    ("truth", r"\bfalse\b", "true"),
)
_CONDITION = re.compile(r"\b(set|using|where|and|or|on|when|if|elsif|having|not|values|select)\b")
_CLAUSE_END = re.compile(
    r"(?<!\w)(and|or|then|order by|group by|returning|limit|for (?:no key )?update|for (?:key )?share|"
    r"on conflict|union|loop|left join|join|cross join|offset|as)\b|[;,]"
)


def sql_changes(file: str, text: str) -> list[Change]:
    """Every change that the rules know of one file, in the order of its text."""
    masked, start, end = mask_sql(text)
    found = [change for rule in _RULES for change in rule(masked, start, end)]
    return changes_of(file, text, [*found, *_coalesces(masked, text, start, end)])


def _swaps(text: str, start: int, end: int) -> Found:
    for operator, pattern, new in _SWAPS:
        for found in re.compile(pattern).finditer(text, start, end):
            yield operator, found.start(), found.end(), new


def _equals(text: str, start: int, end: int) -> Found:
    """`=` where it compares, not where it assigns."""
    for found in re.compile(r"(?<= )=(?= )").finditer(text, start, end):
        before = [word[0] for word in _CONDITION.finditer(text, start, found.start())]
        if before and before[-1] not in ("set", "using", "values"):
            yield "equal", found.start(), found.end(), "<>"


def _ands(text: str, start: int, end: int) -> Found:
    """`and` becomes `or`, and what follows it is left out; the `and` of a `between` is left alone."""
    for found in re.compile(r"\band\b").finditer(text, start, end):
        if _belongs_to_between(text[start : found.start()]):
            continue
        yield "logic", found.start(), found.end(), "or"
        stop = _condition_end(text, found.end(), end)
        yield "conjunct", found.end(), stop, " true"


def _wheres(text: str, start: int, end: int) -> Found:
    """The first condition of a clause is left out."""
    for found in re.compile(r"\bwhere\b").finditer(text, start, end):
        yield "conjunct", found.end(), _condition_end(text, found.end(), end), " true"


def _limits(text: str, start: int, end: int) -> Found:
    for found in re.compile(r"\blimit (\w+)\b").finditer(text, start, end):
        yield "limit", found.start(1), found.end(1), f"({found[1]} + 1)"


def _orders(text: str, start: int, end: int) -> Found:
    """The first key of an order is turned round."""
    for found in re.compile(r"\border by ([\w.]+)(?! desc)(?=[\s,)])").finditer(text, start, end):
        yield "order", found.start(1), found.end(1), f"{found[1]} desc"


def _statements(text: str, start: int, end: int) -> Found:
    """A statement is left out."""
    starts = r"^ *(perform|insert into|update|delete from|exit when)\b"
    for found in re.compile(starts, re.MULTILINE).finditer(text, start, end):
        stop = text.find(";", found.start(1), end)
        if _depth(text[found.start(1) : stop]) == 0 and _begins_statement(text, start, found.start(1)):
            yield "statement", found.start(1), stop, "null"


def _coalesces(masked: str, text: str, start: int, end: int) -> Found:
    """The second choice goes first."""
    for found in re.compile(r"\bcoalesce\(").finditer(masked, start, end):
        parts = _arguments(masked, found.end())
        if len(parts) == 2:
            (a, b), (c, d) = parts
            yield "coalesce", a, d, f"{text[c:d]}, {text[a:b]}"


_RULES: tuple[Callable[[str, int, int], Found], ...] = (
    _swaps,
    _equals,
    _ands,
    _wheres,
    _limits,
    _orders,
    _statements,
)


def _belongs_to_between(before: str) -> bool:
    last = max(before.rfind(" between "), 0)
    return last > 0 and not re.search(r"\band\b|;", before[last + 9 :])


def _condition_end(text: str, start: int, end: int) -> int:
    """Where the condition that begins at `start` ends: at its own depth of parentheses."""
    depth, at, cases = 0, start, 0
    while at < end:
        char = text[at]
        if char == "(":
            depth += 1
        elif char == ")":
            if depth == 0:
                break
            depth -= 1
        elif depth == 0:
            if re.match(r"\bcase\b", text[at:]) and not text[at - 1].isalnum():
                cases += 1
            elif re.match(r"\bend\b", text[at:]) and not text[at - 1].isalnum():
                cases -= 1
            elif cases == 0 and _CLAUSE_END.match(text, at):
                between = _CLAUSE_END.match(text, at)
                if not (between and between[0] == "and" and _belongs_to_between(text[start:at])):
                    break
        at += 1
    return start + len(text[start:at].rstrip())


def _depth(text: str) -> int:
    return text.count("(") - text.count(")")


def _begins_statement(text: str, start: int, at: int) -> bool:
    before = text[start:at].rstrip()
    while before.endswith("~"):  # a comment that stands between
        before = before[: before.rfind("\n")].rstrip() if "\n" in before else before.rstrip("~ ")
    return before.endswith((";", "begin", "then", "else", "loop"))


def _arguments(text: str, start: int) -> list[tuple[int, int]]:
    """Where each argument of a call lies whose parenthesis opens just before `start`."""
    parts, depth, begun = [], 0, start
    for at in range(start, len(text)):
        if text[at] in ",)" and depth == 0:
            parts.append((begun + len(text[begun:at]) - len(text[begun:at].lstrip()), at))
            if text[at] == ")":
                return parts
            begun = at + 1
        depth += {"(": 1, ")": -1, "[": 1, "]": -1}.get(text[at], 0)
    return []
