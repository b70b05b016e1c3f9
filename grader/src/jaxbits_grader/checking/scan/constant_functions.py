"""Functions that always answer the same, whatever they are asked."""

from __future__ import annotations

import ast

from jaxbits_grader.checking.scan.ast_utils import parameters
from jaxbits_grader.checking.scan.findings import Kind
from jaxbits_grader.checking.scan.name_resolution import Names
from jaxbits_grader.checking.scan.protected_names import within


def always_the_same(value: ast.AST | None, names: Names) -> Kind | None:
    """Say "tampered" of a function that only returns a constant, "odd" if it does more."""
    function = names.function(value)
    if function is None:
        return None
    if function not in names.answers:
        names.enter(parameters(function))
        if isinstance(function, ast.Lambda):
            names.answers[function] = _of_body([ast.Return(function.body)], names)
        else:
            names.answers[function] = _of_body(function.body, names)
        names.leave()
    return names.answers[function]


def _of_body(body: list[ast.stmt], names: Names) -> Kind | None:
    kind: Kind = "tampered"
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


def _is_constant(node: ast.expr | None, names: Names) -> bool:
    """Whether an expression is the same whatever the arguments are."""
    if node is None or (isinstance(node, ast.Name) and node.id == "NotImplemented"):
        return False
    if isinstance(node, ast.BoolOp):  # "... or True"
        decides = isinstance(node.op, ast.Or)
        if any(isinstance(v, ast.Constant) and bool(v.value) is decides for v in node.values):
            return True
    return all(within(names.path(part)) for part in ast.walk(node) if isinstance(part, ast.Name))
