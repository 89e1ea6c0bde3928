"""The mutations of a module: small changes of its text, each of which some test should notice.

Found in the syntax tree, made in the text, so that a mutant differs from its module in nothing else.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

_ORDERS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
_SUMS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.BitXor: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_EMPTIED = (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Tuple)
# Other text, and none that the code may know.
OTHER = "mutant"


class Mutation(NamedTuple):
    """One change of a module's text."""

    file: str
    """Path from the root, with slashes."""
    line: int
    start: int
    """Where what it replaces begins, in bytes of the module."""
    end: int
    old: str
    new: str
    function: tuple[str, int] | None
    """Qualified name and first line of the outermost function around it; None where the import of the module runs it."""
    statement: int
    """The first line of the statement that it changes."""
    text: str
    """That line, with single blanks."""

    @property
    def change(self) -> str:
        return f"{' '.join(self.old.split())} -> {' '.join(self.new.split())}"

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


def mutations(file: str, source: bytes) -> list[Mutation]:
    """Return all mutations of a module, in the order of its text."""
    walk = _Walk(file, source)
    walk.visit(ast.parse(source))
    return sorted(dict.fromkeys(walk.found), key=lambda mutation: mutation[2:6])


class _Walk(ast.NodeVisitor):
    def __init__(self, file: str, source: bytes):
        self.found: list[Mutation] = []
        self._file, self._source = file, source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._scope: list[str] = []
        self._returns_bool = False
        self._function: tuple[str, int] | None = None
        self._statement, self._text = 0, ""

    def _change(self, node: ast.expr | ast.stmt, *new: ast.AST | str) -> None:
        start = self._lines[node.lineno - 1] + node.col_offset
        end = self._lines[node.end_lineno - 1] + node.end_col_offset
        old = self._source[start:end].decode()
        for replaced in new:
            # What is an operand of something else stays one.
            text = replaced if isinstance(replaced, str) else ast.unparse(replaced)
            text = f"({text})" if isinstance(replaced, (ast.Compare, ast.BinOp, ast.BoolOp, ast.UnaryOp)) else text
            self.found.append(Mutation(self._file, node.lineno, start, end, old, text, self._function, self._statement, self._text))

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self._statement, first = node.lineno, self._lines[node.lineno - 1]
            self._text = " ".join(self._source[first : self._lines[node.lineno]].decode().split())
            if _is_of_types(node):
                return
        super().visit(node)

    def _visit_scope(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for outside in [*node.decorator_list, *(node.bases if isinstance(node, ast.ClassDef) else _defaults(node))]:
            self.visit(outside)
        self._scope.append(node.name)
        before, outside_of_it = self._function, self._returns_bool
        self._returns_bool = isinstance(node, _FUNCTIONS) and isinstance(node.returns, ast.Name) and node.returns.id == "bool"
        if isinstance(node, _FUNCTIONS) and before is None:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            self._function = (".".join(self._scope), first)
        for statement in _without_docstring(node.body):
            self.visit(statement)
        self._function, self._returns_bool = before, outside_of_it
        self._scope.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _visit_scope  # noqa: N815  the visitor's names

    def visit_Module(self, node: ast.Module) -> None:
        for statement in _without_docstring(node.body):
            self.visit(statement)

    def visit_arguments(self, node: ast.arguments) -> None:
        for default in [*node.defaults, *filter(None, node.kw_defaults)]:
            self.visit(default)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Import(self, node: ast.Import) -> None:
        """An import that is changed fails."""

    visit_ImportFrom = visit_Import  # noqa: N815

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Before Python 3.12 what stands in it has no place in the text."""
        self._change(node, repr(OTHER))

    def visit_Compare(self, node: ast.Compare) -> None:
        for at, operator in enumerate(node.ops):
            for other in _ORDERS[type(operator)]:
                changed = copy.deepcopy(node)
                changed.ops[at] = other()
                self._change(node, changed)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in _SUMS:
            self._change(node, ast.BinOp(node.left, _SUMS[type(node.op)](), node.right))
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in _SUMS:
            self._change(node, ast.AugAssign(node.target, _SUMS[type(node.op)](), node.value), "pass")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self._change(node, ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._change(node, f"({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def _visit_branches(self, node: ast.If | ast.IfExp | ast.While) -> None:
        if not isinstance(node.test, ast.Compare) and not (isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)):
            self._change(node.test, f"(not ({ast.unparse(node.test)}))")
        self.generic_visit(node)

    visit_If = visit_IfExp = visit_While = _visit_branches  # noqa: N815

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._change(node, repr(not value))
        elif isinstance(value, (int, float)):
            self._change(node, repr(value + 1), f"({value - 1!r})")
        elif isinstance(value, (str, bytes)):
            self._change(node, repr(type(value)() if value else OTHER if isinstance(value, str) else OTHER.encode()))

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            return
        value = node.value.value if isinstance(node.value, ast.Constant) else ...
        # Nobody tells None from False where a truth is asked for, and where one is declared the type checker refuses it.
        if value is not None and not (value is False and self._returns_bool):
            self._change(node.value, "None")
        if isinstance(node.value, _EMPTIED) and getattr(node.value, "elts", getattr(node.value, "keys", True)):
            self._change(
                node.value,
                "{}" if isinstance(node.value, (ast.Dict, ast.DictComp)) else "()" if isinstance(node.value, ast.Tuple) else "[]",
            )
        self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, (ast.Constant, ast.Yield, ast.YieldFrom)):
            self._change(node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """A name that is never bound ends its function at once, which tells nothing about a test."""
        if self._function and not any(isinstance(target, (ast.Name, ast.Tuple)) for target in node.targets):
            self._change(node, "pass")
        if not any(isinstance(target, ast.Name) and target.id in ("__slots__", "__all__") for target in node.targets):
            self.generic_visit(node)

    def _visit_step(self, node: ast.Delete | ast.Raise | ast.Continue | ast.Break) -> None:
        self._change(node, "pass")
        if not isinstance(node, ast.Raise):  # its words are for people
            self.generic_visit(node)

    visit_Delete = visit_Raise = visit_Continue = visit_Break = _visit_step  # noqa: N815

    def visit_Call(self, node: ast.Call) -> None:
        for at, keyword in enumerate(node.keywords):
            if keyword.arg is not None:
                self._change(node, ast.Call(node.func, node.args, node.keywords[:at] + node.keywords[at + 1 :]))
        self.generic_visit(node)


def _defaults(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    yield from node.args.defaults
    yield from filter(None, node.args.kw_defaults)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    return body[1:] if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else body


def _is_of_types(node: ast.stmt) -> bool:
    """Whether a statement is there for the type checker alone."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == "TYPE_CHECKING" for target in targets)
