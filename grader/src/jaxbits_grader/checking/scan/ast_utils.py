"""The syntax of a cell, and small questions about parts of it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from IPython.core.inputtransformer2 import TransformerManager

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def tree(source: str) -> ast.Module | None:
    """The syntax of a cell as IPython would run it, None where it would not."""
    # A single line that is no Python may be a magic without its sign.
    transform = TransformerManager().transform_cell
    attempts = [source] + [f"%{source}"] * ("\n" not in source.strip())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for attempt in attempts:
            try:
                code = transform(attempt)
                flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
                found = compile(code, "cell", "exec", flags, dont_inherit=True)
            except (RecursionError, MemoryError):
                raise
            except Exception:  # IPython's transformations raise whatever they run into
                continue
            assert isinstance(found, ast.Module)
            return found
    return None


def word(node: ast.expr | None) -> str | None:
    """The string that an expression is, where it could be a name."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value if node.value.replace(".", "_").isidentifier() else None
    return None


def pairs(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """What a call of ``update`` or the like gives a name to."""
    for keyword in call.keywords:
        if keyword.arg:
            yield keyword.arg, keyword.value
    if len(call.args) == 2 and (name := word(call.args[0])):
        yield name, call.args[1]
    for argument in call.args:
        if isinstance(argument, ast.Dict):
            for key, value in zip(argument.keys, argument.values, strict=True):
                if name := word(key):
                    yield name, value


def root(node: ast.expr) -> str | None:
    """The name that an expression of attributes and indices starts from."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def parameters(function: Function) -> list[str]:
    """The names of all of a function's parameters, those that go by position first."""
    own = function.args
    every = [*own.posonlyargs, *own.args, *own.kwonlyargs, own.vararg, own.kwarg]
    return [argument.arg for argument in every if argument]


def stored(function: Function) -> set[str]:
    """The names that a function's body binds for itself."""
    names: set[str] = set()
    todo: list[ast.AST] = [] if isinstance(function, ast.Lambda) else [*function.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        todo += ast.iter_child_nodes(node)
    shared = (node for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal))
    return names - {name for node in shared for name in node.names}


def declared(function: Function) -> set[str]:
    """The names of the notebook that a function gives a value to."""
    shared = (node for node in ast.walk(function) if isinstance(node, ast.Global))
    return {name for node in shared for name in node.names}


def sets_parts_of(function: Function) -> set[str]:
    """The parameters of which a function sets or deletes attributes."""
    changed: set[str | None] = set()
    for node in ast.walk(function):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                changed.add(root(node))
            case ast.Subscript(value=owner, ctx=ast.Store() | ast.Del()):
                changed.add(_of_dict(owner))
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[owner, *_]):
                changed.add(root(owner))
    return {name for name in parameters(function) if name in changed}


def _of_dict(node: ast.expr) -> str | None:
    """What an expression is the names of: ``m`` for ``m.__dict__`` and ``vars(m)``."""
    match node:
        case ast.Attribute(attr="__dict__"):
            return root(node)
        case ast.Call(func=ast.Name(id="vars"), args=[owner, *_]):
            return root(owner)
    return None
