"""Find out from the source whether a line passes a key on, or takes the key that it gets back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.source.ast_utils import parse_file

_KEY_NAME = re.compile(r"key|rng|prng|seed|random", re.IGNORECASE)
_Statement = ast.Return | ast.Assign | ast.AnnAssign | ast.Expr | ast.AugAssign | ast.Lambda
"""A simple statement, or a lambda."""


def takes_key_from_callee(location: CodeLocation) -> bool:
    """Return whether a line returns what it calls, or rebinds the key that it passes.

    An example is ``z, key = layer(z, key)``. The function that is called then returns the key. In a
    line such as ``batch = draw(key, data)``, the caller keeps the key and returns it itself.

    Args:
        location: A line of user code that calls a function with a key.
    """
    tree = parse_file(location.file)
    if tree is None:
        return False
    nodes = (node for node in ast.walk(tree) if isinstance(node, _Statement))
    statements = [n for n in nodes if n.lineno <= location.line <= (n.end_lineno or n.lineno)]
    node = max(statements, key=lambda node: (node.lineno, node.col_offset), default=None)
    match node:
        case ast.Lambda(body=body):
            return isinstance(body, ast.Call)
        case ast.Return(value=ast.Call()):
            return True
        case ast.Return(value=ast.Tuple(elts=parts)):
            kept = {ast.unparse(part) for part in parts if not isinstance(part, ast.Call)}
            return not kept & set(_passed(node))
        case ast.Assign(targets=targets, value=value):
            return _rebinds_key(targets, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return _rebinds_key([target], value)
    return False


def _rebinds_key(targets: list[ast.expr], value: ast.expr) -> bool:
    """Return whether an assignment rebinds the key among the arguments of the calls in it."""
    names = {ast.unparse(node) for target in targets for node in _parts(target)}
    passed = set(_passed(value))
    keys = {name for name in passed if _KEY_NAME.search(name)}
    return bool(names & (keys or passed))


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _parts(element)
    else:
        yield target.value if isinstance(target, ast.Starred) else target


def _passed(node: ast.AST) -> Iterator[str]:
    """Yield the arguments of all calls in a node, as source code."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            yield from map(ast.unparse, call.args)
            yield from (ast.unparse(keyword.value) for keyword in call.keywords)
