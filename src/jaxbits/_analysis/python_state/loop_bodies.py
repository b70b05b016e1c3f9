"""Find the iterators that the body of a JAX loop takes from outside."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import types
from collections.abc import Iterator
from typing import Any

from jaxbits._analysis.code_location import CodeLocation, is_user_code, location_of_code
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.source.ast_utils import parse_file

# These functions trace a body once and run it many times:
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/control_flow/loops.py
_JAX_LOOPS = {"scan", "fori_loop", "while_loop", "map", "associative_scan"}


class LoopBodies:
    """A record of the iterators that functions create in the bodies of JAX loops."""

    def __init__(self) -> None:
        self._created: list[tuple[Any, types.FrameType]] = []

    def outer_iterators(self, frame: types.FrameType) -> list[Any]:
        """Return the captured iterators that are older than the innermost JAX loop around a frame.

        There are none if no JAX loop is around the frame.

        Args:
            frame: A frame of user code.
        """
        captured = _iterators(frame, frame.f_code.co_freevars)
        path = _path_from_loop(frame) if captured else []
        if not path:
            return []
        return [value for value in captured if not self._is_created_in(value, path)]

    def record_return(self, frame: types.FrameType) -> None:
        """Remember the iterators that a returning function created and may leave to a closure.

        Args:
            frame: The frame of the function.
        """
        created = _iterators(frame, frame.f_code.co_cellvars)
        path = _path_from_loop(frame) if created else []
        if path:
            self._created += [(v, path[0]) for v in created if self._is_created_in(v, path)]

    def _is_created_in(self, value: Any, path: list[types.FrameType]) -> bool:
        """Return whether a frame inside a loop created an iterator.

        Args:
            value: The iterator.
            path: The frame of the loop, and the frames that it led to.
        """
        loop, *body = path
        if any(value is other and loop is place for other, place in self._created):
            return True
        # The origin of the iterator follows from the outermost of the user's frames that have it.
        frames = [f for f in body if is_user_code(f.f_code.co_filename)]
        for frame in frames:
            names = {name for name, v in frame.f_locals.items() if _holds(v, value)}
            if names:
                given = frame.f_code.co_freevars + _parameters(frame) * (frame is frames[0])
                return names.isdisjoint(given)
        return False


def _parameters(frame: types.FrameType) -> tuple[str, ...]:
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


def _holds(holder: Any, iterator: Any) -> bool:
    """Return whether a value is an iterator or a container with it."""
    if type(holder) is dict:
        holder = tuple(holder.values())
    if type(holder) in (list, tuple):
        return any(item is iterator for item in holder)
    return holder is iterator


def _iterators(frame: types.FrameType, names: tuple[str, ...]) -> list[Any]:
    return [v for v in map(frame.f_locals.get, names) if is_iterator(v)] if names else []


def _path_from_loop(frame: types.FrameType) -> list[types.FrameType]:
    """Return the frames from the innermost JAX loop or `vmap` to a frame, or [] without a loop."""
    path: list[types.FrameType] = [frame]
    while (outer := path[-1].f_back) is not None:
        path.append(outer)
        file, name = outer.f_code.co_filename, outer.f_code.co_name
        if ("control_flow" in file and name in _JAX_LOOPS) or (name == "vmap_f" and "jax" in file):
            return path[::-1]
    return []


def line_of_iteration(code: types.CodeType) -> CodeLocation:
    """Return the first line on which a function iterates over a captured name, or its first line.

    Args:
        code: The code of the function.
    """
    first = location_of_code(code)
    lines = {line for *_, line in code.co_lines() if line is not None}
    found = [
        iterated.lineno
        for iterated in _iterated(code.co_filename)
        if iterated.lineno in lines
        and any(isinstance(n, ast.Name) and n.id in code.co_freevars for n in ast.walk(iterated))
    ]
    return dataclasses.replace(first, line=min(found)) if found else first


def _iterated(file: str) -> Iterator[ast.expr]:
    """Yield the expressions that the loops and comprehensions in a file iterate over."""
    tree = parse_file(file)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, (ast.For, ast.comprehension)):
            yield node.iter
