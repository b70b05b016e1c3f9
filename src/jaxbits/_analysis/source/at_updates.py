"""What the source of a function says of updates: dropped, or made to an array JAX has taken."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from jaxbits._analysis.code_location import Place

_UPDATES = {"set", "add", "multiply", "mul", "divide", "power", "min", "max", "apply", "subtract"}


def dropped(function: Callable[..., Any]) -> Iterator[Place]:
    """Yield the lines on which `x.at[i].set(v)` stands alone."""
    for node, place in _syntax(function):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            item = call.func.value
            on = item.value if isinstance(item, ast.Subscript) else None
            if call.func.attr in _UPDATES and isinstance(on, ast.Attribute) and on.attr == "at":
                yield place


def _syntax(function: Callable[..., Any]) -> Iterator[tuple[ast.AST, Place]]:
    """Yield the nodes of a function's source with their lines."""
    while isinstance(function, functools.partial):
        function = function.func
    plain = inspect.unwrap(function)
    try:
        lines, start = inspect.getsourcelines(plain)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return
    file, name = inspect.getsourcefile(plain) or "", getattr(plain, "__name__", "")
    for node in ast.walk(tree):
        yield node, Place(file, start + getattr(node, "lineno", 1) - 1, name)


def refilled(function: Callable[..., Any]) -> Iterator[tuple[Place, str]]:
    """Yield where a NumPy array is written to that JAX has taken before, with its name."""
    taken: dict[str, int] = {}
    nodes = list(_syntax(function))
    for node, place in nodes:
        name = _taken(node)
        if name:
            taken.setdefault(name, place.line)
    for node, place in nodes:
        name = _written(node)
        if name in taken and place.line > taken[name]:
            yield place, name
        elif isinstance(node, (ast.For, ast.While)):
            yield from _in_a_loop(node, place)


def _in_a_loop(loop: ast.For | ast.While, place: Place) -> Iterator[tuple[Place, str]]:
    """Yield what a loop fills anew in each turn, and hands to JAX to be kept."""
    inside = [node for statement in loop.body for node in ast.walk(statement)]
    made = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    kept = {_taken(node) for keeper in inside for node in _kept(keeper)} - made - {""}
    for node in inside:
        name = _written(node)
        if name in kept:
            line = place.line - loop.lineno + getattr(node, "lineno", loop.lineno)
            yield dataclasses.replace(place, line=line), name


def _kept(node: ast.AST) -> list[ast.expr]:
    """Return what a node hands on to be kept: a yielded value, or what is appended to a list."""
    match node:
        case ast.Yield(value=ast.expr() as value):
            return [value]
        case ast.Call(func=ast.Attribute(attr="append"), args=appended):
            return appended
    return []


def _taken(node: ast.AST) -> str:
    """Return the name of what `jnp.asarray` and the like take, if it has one."""
    match node:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Name(id="jnp" | "jax"), attr="asarray" | "device_put" | "from_dlpack"
            ),
            args=[ast.Name(id=name), *_],
        ):
            return name
    return ""


def _written(node: ast.AST) -> str:
    """Return the name of an array of which an item is assigned to, if it has one."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
            return name
    return ""
