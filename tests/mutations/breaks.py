"""Random breaks of the product: one line of one file that says something else."""

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

PRODUCT = ("functions", "layers/core/mcpist", "layers/services/mcpist_services", "infra")
# In the place of a comparison the one that differs at its edge, or its contrary.
TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True, slots=True)
class Break:
    """One line of a file, and the line that replaces it."""

    file: str
    line: int
    """Counted from 1."""
    kind: str
    before: str
    after: str

    def apply(self, root: Path) -> dict[str, str]:
        """Return the text of the broken file by its path."""
        lines = (root / self.file).read_text("utf-8").split("\n")
        assert lines[self.line - 1] == self.before, f"{self.file}:{self.line} is another line by now"
        lines[self.line - 1] = self.after
        return {self.file: "\n".join(lines)}

    def is_python(self, root: Path) -> bool:
        """Whether the broken file can be read: a part of an f-string, for example, cannot hold each quote."""
        try:
            ast.parse(self.apply(root)[self.file])
        except SyntaxError:
            return False
        return True

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.kind}: {self.before.strip()} -> {self.after.strip()}"


def draw(root: Path, seed: int, count: int) -> list[Break]:
    """Return so many breaks at random places, in a random order; equal seeds and sources give equal ones."""
    files = sorted(file for place in PRODUCT for file in (root / place).rglob("*.py"))
    places = [found for file in files for found in breaks(file.relative_to(root).as_posix(), file.read_text("utf-8"))]
    random.Random(seed).shuffle(places)  # noqa: S311 - which line is no secret
    return list(islice((one for one in places if one.is_python(root)), count))


def breaks(file: str, source: str) -> Iterator[Break]:
    """Yield all breaks of a file, those of the same line one after another."""
    lines = source.split("\n")
    seen = set[tuple[int, str]]()
    for node in ast.walk(ast.parse(source)):
        for kind, place, text in _changes(node):
            if place.lineno != place.end_lineno:
                continue
            line = lines[place.lineno - 1]
            # Columns are counted in bytes.
            start, end = (len(line.encode()[:column].decode()) for column in (place.col_offset, place.end_col_offset))
            broken = f"{line[:start]}{text}{line[end:]}"
            if broken != line and (place.lineno, broken) not in seen:
                seen.add((place.lineno, broken))
                yield Break(file, place.lineno, kind, line, broken)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    """Yield what a node can become: the kind of the break, the part that is replaced, and the text in its place."""
    match node:
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise() | ast.Delete() | ast.Continue():
            yield "statement dropped", node, "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement dropped", node, "pass"
        case ast.Compare(ops=[op]):
            yield "comparison turned", node, ast.unparse(ast.Compare(node.left, [TURNED[type(op)]()], node.comparators))
        case ast.If() | ast.While() | ast.IfExp():
            yield "branch negated", node.test, f"not ({ast.unparse(node.test)})"
        case ast.comprehension(ifs=[condition]):
            yield "branch negated", condition, f"not ({ast.unparse(condition)})"
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and turned to or, or the reverse", node, ast.unparse(ast.BoolOp(other, values))
        case ast.Constant(value=bool(value)):
            yield "constant changed", node, str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield "constant changed", node, "0" if value else "1"
        case ast.Return(value=ast.expr()):
            yield "nothing returned", node, "return None"
