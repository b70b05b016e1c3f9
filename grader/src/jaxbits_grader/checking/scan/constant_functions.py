"""Recognize functions that return the same value for all arguments."""

from __future__ import annotations

import ast

from jaxbits_grader.cell_names import parameter_names
from jaxbits_grader.checking.scan.findings import Kind
from jaxbits_grader.checking.scan.name_resolution import NameResolver
from jaxbits_grader.checking.scan.protected_names import is_within


def constant_function_kind(value: ast.AST | None, names: NameResolver) -> Kind | None:
    """Return how suspicious a function is if it always returns the same value.

    Args:
        value: The syntax tree of a function, or a name that refers to one.
        names: The names known so far.

    Returns:
        "tampering" if the function does nothing but return a constant, "odd" if it returns a
        constant but also does something else, or None if its result may vary or `value` is not a
        function.
    """
    function = names.function(value)
    if function is None:
        return None
    if function not in names.constant_kinds:
        names.enter(parameter_names(function))
        if isinstance(function, ast.Lambda):
            body: list[ast.stmt] = [ast.Return(function.body)]
        else:
            body = function.body
        names.constant_kinds[function] = _body_kind(body, names)
        names.leave()
    return names.constant_kinds[function]


def _body_kind(body: list[ast.stmt], names: NameResolver) -> Kind | None:
    kind: Kind = "tampering"
    todo = list(body)
    returned: list[ast.expr | None] = []
    while todo:
        match todo.pop():
            case ast.Return(value=value):
                returned.append(value)
            case ast.With(body=inner):
                todo += inner
            case ast.If(test=test, body=inner, orelse=other) if _is_constant(test, names):
                todo += [*inner, *other]
            case ast.Expr(value=value) | ast.Assign(value=value):
                kind = kind if isinstance(value, ast.Constant) else "odd"
            case ast.AugAssign():
                kind = "odd"
            case ast.Pass() | ast.Delete() | ast.Global():
                pass
            case _:
                return None
    return kind if returned and all(_is_constant(value, names) for value in returned) else None


def _is_constant(node: ast.expr | None, names: NameResolver) -> bool:
    """Return whether an expression's value is independent of the function's arguments."""
    if node is None or (isinstance(node, ast.Name) and node.id == "NotImplemented"):
        return False
    if isinstance(node, ast.BoolOp):  # For example, `x == y or True` is always true.
        decides = isinstance(node.op, ast.Or)
        if any(isinstance(v, ast.Constant) and bool(v.value) is decides for v in node.values):
            return True
    return all(is_within(names.path(part)) for part in ast.walk(node) if isinstance(part, ast.Name))
