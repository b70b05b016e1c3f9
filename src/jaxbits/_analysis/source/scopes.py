"""The scopes of functions in source code, with their parameters and local names."""

from __future__ import annotations

import ast
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass
class Scope:
    """The scope of a function.

    Attributes:
        first: The number of the function's first line, including decorators.
        last: The number of its last line.
        locals: The names that are local to the function.
        parameters: The names of its parameters.
        name: The name of the function, or an empty string for a lambda.
        class_name: The class that has the function as a method, or an empty string.
    """

    first: int
    last: int
    locals: set[str]
    parameters: list[str]
    name: str = ""
    class_name: str = ""


def scope_of_function(node: Function, class_name: str) -> Scope:
    """Return the scope of a function.

    Args:
        node: The syntax tree of the function.
        class_name: The class that has it as a method, or an empty string.
    """
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [a for a in (arguments.vararg, arguments.kwarg) if a]
    parameters = [a.arg for a in every]
    bound, declared = _bound_names(node)
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(d.lineno for d in decorators)])
    names = {*parameters, *bound} - declared
    last = node.end_lineno or first
    return Scope(first, last, names, parameters, getattr(node, "name", ""), class_name)


def _bound_names(function: Function) -> tuple[set[str], set[str]]:
    """Return the local names that a function itself binds, and its global and nonlocal names."""
    bound, declared = set[str](), set[str]()
    waiting: list[ast.AST] = []
    waiting += function.body if isinstance(function.body, list) else [function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            declared |= set(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            bound.add(node.name)
            continue
        elif isinstance(node, ast.Lambda):
            continue
        waiting += ast.iter_child_nodes(node)
    return bound - declared, declared
