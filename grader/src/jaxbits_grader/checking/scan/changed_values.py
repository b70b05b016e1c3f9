"""Find the names whose values a statement may change, such as a list to which it appends."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

# Methods of containers that change nothing.
_ONLY_READ = frozenset(
    {"copy", "count", "get", "index", "isdisjoint", "issubset", "items", "keys", "values"}
)


def changed_names(statement: ast.stmt, functions: Collection[str]) -> set[str]:
    r"""Return the names whose values a statement may change without binding them.

    Args:
        statement: The statement, such as the definition of a function that changes a table.
        functions: The names of functions that may change their arguments.

    Example:
        >>> tree = ast.parse("def learn():\n    TABLE[1] = run(1)\n    seen.append(1)")
        >>> sorted(changed_names(tree.body[0], []))
        ['TABLE', 'seen']
    """
    return set(_changed(statement, functions))


def _changed(statement: ast.stmt, functions: Collection[str]) -> Iterator[str]:
    for node in ast.walk(statement):
        match node:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield name
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield name
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                if method not in _ONLY_READ:
                    yield name
            case ast.Call(func=ast.Name(id=function), args=args) if function in functions:
                yield from (arg.id for arg in args if isinstance(arg, ast.Name))
