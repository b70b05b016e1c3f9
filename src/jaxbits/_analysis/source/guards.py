"""Recognize code that computes a value only if it does not exist yet."""

from __future__ import annotations

import ast


def unset_names(test: ast.expr, holds: bool = True) -> set[str]:
    """Return the names and attributes that have no value yet if a condition holds.

    Args:
        test: The condition of an ``if``.
        holds: Whether the condition holds. If False, the names are those without a value otherwise.

    >>> test = ast.parse("table is None and not hasattr(self, 'rate')", mode="eval").body
    >>> sorted(unset_names(test)), unset_names(test, holds=False)
    (['self.rate', 'table'], set())
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return unset_names(test.operand, not holds)
    if isinstance(test, ast.BoolOp):
        is_certain = isinstance(test.op, ast.And) == holds
        return {n for v in test.values for n in unset_names(v, holds)} if is_certain else set()
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        is_none = ast.unparse(test.comparators[0]) == "None"
        wanted = (ast.Is, ast.Eq) if holds else (ast.IsNot, ast.NotEq)
        return {ast.unparse(test.left)} if is_none and isinstance(test.ops[0], wanted) else set()
    if not holds and isinstance(test, ast.Call) and ast.unparse(test.func) == "hasattr":
        owner, attribute = map(ast.unparse, test.args)
        return {f"{owner}.{ast.literal_eval(attribute)}"} if attribute[:1] in "'\"" else set()
    return set()


def leaves_function(body: list[ast.stmt]) -> bool:
    """Return whether the last statement of a block returns or raises an error."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Raise))
