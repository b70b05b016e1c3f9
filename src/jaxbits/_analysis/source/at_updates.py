"""Find discarded array updates and reused buffers in source code."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.safe_attributes import unwrap
from jaxbits._analysis.source.ast_utils import parse_file

_UPDATES = {"set", "add", "multiply", "mul", "divide", "power", "min", "max", "apply", "subtract"}


def find_discarded_updates(function: Callable[..., Any]) -> Iterator[CodeLocation]:
    """Yield the lines on which the result of an update such as `x.at[i].set(v)` is discarded."""
    for node, location in nodes_of(function):
        if _discards_update(node):
            yield location


def discarded_update_at(location: CodeLocation) -> CodeLocation | None:
    """Return the first line of the statement on a line if it discards an update, or else None."""
    tree = parse_file(location.file)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Expr) and _discards_update(node):
            last = node.end_lineno or node.lineno
            if node.lineno <= location.line <= last:
                return dataclasses.replace(location, line=node.lineno)
    return None


def method_of_update(location: CodeLocation) -> str:
    """Return the method of the discarded update that starts on a line, or "set" if it is unknown.

    Args:
        location: The first line of the statement.
    """
    tree = parse_file(location.file)
    methods = {
        method
        for node in (ast.walk(tree) if tree else ())
        if getattr(node, "lineno", 0) == location.line and (method := _discarded_method(node))
    }
    return methods.pop() if len(methods) == 1 else "set"


def _discards_update(node: ast.AST) -> bool:
    """Return whether a node is a statement such as ``x.at[i].set(v)``."""
    return bool(_discarded_method(node))


def _discarded_method(node: ast.AST) -> str:
    """Return the method of a statement such as ``x.at[i].set(v)``, or "" for other nodes."""
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Subscript(value=ast.Attribute(attr="at")), attr=method)
            )
        ):
            return method if method in _UPDATES else ""
    return ""


def nodes_of(function: Callable[..., Any]) -> Iterator[tuple[ast.AST, CodeLocation]]:
    """Yield the nodes of a function's syntax tree with their locations."""
    while isinstance(function, functools.partial):
        function = function.func
    unwrapped = unwrap(function)
    try:
        lines, start = inspect.getsourcelines(unwrapped)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return
    file, name = inspect.getsourcefile(unwrapped) or "", getattr(unwrapped, "__name__", "")
    for node in ast.walk(tree):
        yield node, CodeLocation(file, start + getattr(node, "lineno", 1) - 1, name)


def find_refilled_buffers(function: Callable[..., Any]) -> Iterator[tuple[CodeLocation, str]]:
    """Yield the location and array name of each write to a NumPy array that JAX may alias."""
    given_to_jax: dict[str, int] = {}
    nodes = list(nodes_of(function))
    for node, location in nodes:
        name = _array_given_to_jax(node)
        if name:
            given_to_jax.setdefault(name, location.line)
    for node, location in nodes:
        name = _array_written_to(node)
        if name in given_to_jax and location.line > given_to_jax[name]:
            yield location, name
        elif isinstance(node, (ast.For, ast.While)):
            yield from _find_refills_in_loop(node, location)


def _find_refills_in_loop(
    loop: ast.For | ast.While, location: CodeLocation
) -> Iterator[tuple[CodeLocation, str]]:
    """Yield each write in a loop to an array that JAX received in an earlier iteration."""
    body = [node for child in loop.body for node in ast.walk(child)]
    rebound = {n.id for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    kept_arrays = (
        {_array_given_to_jax(node) for statement in body for node in _kept_values(statement)}
        - rebound
        - {""}
    )
    for node in body:
        name = _array_written_to(node)
        if name in kept_arrays:
            line = location.line - loop.lineno + getattr(node, "lineno", loop.lineno)
            yield dataclasses.replace(location, line=line), name


def _kept_values(node: ast.AST) -> list[ast.expr]:
    """Return the values that a node keeps by yielding them or appending them to a list."""
    match node:
        case ast.Yield(value=ast.expr() as value):
            return [value]
        case ast.Call(func=ast.Attribute(attr="append"), args=appended):
            return appended
    return []


def _array_given_to_jax(node: ast.AST) -> str:
    """Return the name of the array that a node passes to `jnp.asarray` or a similar function."""
    match node:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Name(id="jnp" | "jax"), attr="asarray" | "device_put" | "from_dlpack"
            ),
            args=[ast.Name(id=name), *_],
        ):
            return name
    return ""


def _array_written_to(node: ast.AST) -> str:
    """Return the name of the array to whose items a node assigns, or an empty string."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
            return name
    return ""
