"""Recognize functions that read a clock only to print how long something took.

A function of an answer could find out from a clock which test calls it. Many students print elapsed
times, however, and what is printed does not affect a result.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from jaxbits_grader.cell_names import Function, declared_globals, parameter_names
from jaxbits_grader.checking.scan.name_resolution import NameResolver
from jaxbits_grader.notebook import Cell

_CLOCKS: frozenset[str | None] = frozenset(
    f"time.{name}{unit}"
    for name in ("time", "perf_counter", "monotonic", "process_time")
    for unit in ("", "_ns")
)
_PURE = ("abs", "float", "format", "int", "max", "min", "round", "str")
_BUILTINS = {f"builtins.{name}" for name in _PURE}
_WRITERS = ("sys.stdout.write", "sys.stderr.write")
_PRINT_KEYWORDS = ("sep", "end", "flush")
_Scope = (
    ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
    | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
)  # fmt: skip


def can_read_output(cells: Iterable[Cell]) -> bool:
    """Return whether a notebook may read what its functions print.

    A notebook could also define functions with the names of Python's own.

    Example:
        >>> [can_read_output([Cell("code", s)]) for s in ("print = f", "print(1)")]
        [True, False]
    """
    own = ("print", *_PURE)
    return any("redirect_" in cell.source or cell.names.intersection(own) for cell in cells)


def find_printed_clocks(function: Function, names: NameResolver) -> set[int]:
    """Return the ids of the nodes that refer to clocks whose times a function only prints.

    The result is empty if a time may affect anything else.

    Args:
        function: The function.
        names: What the names inside the function refer to.
    """
    flow = _Flow(function, names)
    return {id(clock.func) for clock in flow.clocks} if flow.is_printed() else set()


class _Flow:
    """Follows the times that a function reads from clocks through its local variables."""

    def __init__(self, function: Function, names: NameResolver) -> None:
        self.function, self.names = function, names
        self.parents: dict[ast.AST, ast.AST] = {}
        body = function.body if isinstance(function.body, list) else [function.body]
        self.own = [node for part in body for node in self._walk(part)]
        self.clocks = [node for node in self.own if self._is_clock(node)]
        # The local variables that contain times.
        self.times: set[str] = set()

    def _walk(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that run as part of the function itself, and record their parents."""
        yield node
        if not isinstance(node, _Scope):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
                yield from self._walk(child)

    def _is_clock(self, node: ast.AST) -> TypeGuard[ast.Call]:
        if not isinstance(node, ast.Call) or node.args or node.keywords:
            return False
        return self.names.path(node.func) in _CLOCKS

    def _uses(self) -> list[ast.AST]:
        loads = [n for n in self.own if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        return [*self.clocks, *(name for name in loads if name.id in self.times)]

    def is_printed(self) -> bool:
        """Return whether the times are only printed or stored in variables that are printed."""
        while True:
            found = [self._targets(node) for node in self._uses()]
            if None in found:
                return False
            targets = {name for names in found for name in names or ()}
            if targets <= self.times:
                break
            self.times |= targets
        shared = {*parameter_names(self.function), *declared_globals(self.function)}
        for node in self.own:
            match node:
                case ast.Nonlocal(names=several):
                    shared.update(several)
                case ast.AST() if isinstance(node, _Scope):
                    parts = (part for part in ast.walk(node) if isinstance(part, ast.Name))
                    shared.update(part.id for part in parts)
        return not shared & self.times and all(map(self._is_plain_assignment, self.own))

    def _targets(self, node: ast.AST) -> tuple[str, ...] | None:
        """Return the variables in which a time ends up, or None if it may affect anything else."""
        while True:
            parent = self.parents.get(node)
            match parent:
                case ast.BinOp() | ast.UnaryOp():
                    if not self._is_plain(parent) and not _is_formatting(parent):
                        return None
                case ast.Tuple() if _is_formatting(self.parents.get(parent)):
                    pass
                case ast.FormattedValue() | ast.JoinedStr():
                    pass
                case ast.Call() if self._is_plain(parent) or _is_formatting(parent):
                    pass
                case ast.Call():
                    is_statement = isinstance(self.parents.get(parent), ast.Expr)
                    return () if is_statement and self._prints(parent) else None
                case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Tuple():
                    return self._assigned(node, parent)
                case _:
                    return None
            node = parent

    def _prints(self, call: ast.Call) -> bool:
        path = self.names.path(call.func)
        if path in _WRITERS:
            return True
        return path == "builtins.print" and all(k.arg in _PRINT_KEYWORDS for k in call.keywords)

    def _assigned(self, node: ast.AST, parent: ast.AST) -> tuple[str, ...] | None:
        """Return the variables to which a statement assigns a value, or one item of a tuple."""
        pairs = [*_assignments(self.parents[parent] if isinstance(parent, ast.Tuple) else parent)]
        targets = [target for target, value in pairs if value is node]
        if not targets or not all(isinstance(target, ast.Name) for target in targets):
            return None
        return tuple(target.id for target in targets if isinstance(target, ast.Name))

    def _is_plain(self, node: ast.AST) -> bool:
        """Return whether an expression consists only of constants, times, and arithmetic.

        Other objects could define their own arithmetic and thus see a time.
        """
        match node:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return name in self.times or self._is_assigned_time(name)
            case ast.BinOp(left=left, right=right):
                return self._is_plain(left) and self._is_plain(right)
            case ast.UnaryOp(operand=operand):
                return self._is_plain(operand)
            case ast.Call(func=function, args=args, keywords=[]):
                is_pure = self.names.path(function) in _BUILTINS and all(map(self._is_plain, args))
                return is_pure or self._is_clock(node)
        return False

    def _is_assigned_time(self, name: str) -> bool:
        """Return whether some statement assigns a time to a variable."""
        return any(
            isinstance(target, ast.Name) and target.id == name and self._contains_time(value)
            for node in self.own
            for target, value in _assignments(node)
        )

    def _contains_time(self, value: ast.AST) -> bool:
        parts = list(ast.walk(value))
        names = {part.id for part in parts if isinstance(part, ast.Name)}
        return bool(names & self.times) or any(map(self._is_clock, parts))

    def _is_plain_assignment(self, node: ast.AST) -> bool:
        """Return whether a node, if it binds a variable with times, assigns nothing else to it."""
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if name in self.times:
                parent = self.parents[node]
                statement = self.parents[parent] if isinstance(parent, ast.Tuple) else parent
                pairs = [value for target, value in _assignments(statement) if target is node]
                return bool(pairs) and all(map(self._is_plain, pairs))
            case ast.alias() | ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                return (getattr(node, "asname", None) or node.name) not in self.times
        return True


def _assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets of an assignment, each with its value."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    if len(target.elts) == len(value.elts):
                        yield from zip(target.elts, value.elts, strict=True)
                else:
                    yield target, value
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield target, value
        case ast.AugAssign(target=target, value=value):
            yield target, value


def _is_formatting(node: ast.AST | None) -> bool:
    """Return whether an expression inserts values into a text that is written out."""
    match node:
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str())):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format")):
            return True
    return False
