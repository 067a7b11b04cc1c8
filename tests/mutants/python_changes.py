"""Small changes of Python modules, by rule; the same kinds as for SQL."""

import ast
import itertools
from collections.abc import Iterator

from tests.mutants.change import Change, changes_of

__all__ = ["python_changes"]

Found = Iterator[tuple[str, int, int, str]]

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {ast.Add: ("+", "-"), ast.Sub: ("-", "+")}
_EXTREMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


def python_changes(file: str, text: str) -> list[Change]:
    """Every change that the rules know of one module, in the order of its text."""
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    found = [change for node in ast.walk(ast.parse(text)) for change in _changes(_Source(text, lines), node)]
    return changes_of(file, text, found)


class _Source:
    def __init__(self, text: str, lines: list[int]) -> None:
        self.text = text
        self._lines = lines

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._place(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._place(node.end_lineno, node.end_col_offset)

    def between(self, left: ast.expr, right: ast.expr, sign: str) -> tuple[int, int]:
        at = self.text.index(sign, self.end(left), self.start(right))
        return at, at + len(sign)

    def _place(self, line: int, column: int) -> int:
        whole = self.text[self._lines[line - 1] : self._lines[line]]
        return self._lines[line - 1] + len(whole.encode()[:column].decode())


def _changes(source: _Source, node: ast.AST) -> Found:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _COMPARISONS:
            sign, new = _COMPARISONS[type(operator)]
            yield "compare", *source.between(left, right, sign), new
        case ast.BoolOp(op=operator, values=values):
            sign, new = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
            for left, right in itertools.pairwise(values):
                yield "logic", *source.between(left, right, sign), new
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
            sign, new = _ARITHMETIC[type(operator)]
            yield "sign", *source.between(left, right, sign), new
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", source.start(node), source.start(operand), ""
        case ast.Call(func=ast.Name(id=name) as called) if name in _EXTREMES:
            yield "extreme", source.start(called), source.end(called), _EXTREMES[name]
        case ast.Constant(value=bool(value)):
            yield "truth", source.start(node), source.end(node), str(not value)
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Delete():
            yield "statement", source.start(node), source.end(node), "pass"
