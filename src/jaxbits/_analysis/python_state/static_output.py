"""Recognize output that shows only what is the same on every call, such as shapes."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator

import jax
from jax.core import Tracer

from jaxbits._analysis.python_state.log_calls import shows_tracer

_STATIC_ATTRIBUTES = {"shape", "dtype", "ndim", "size", "itemsize", "nbytes", "sharding"}
_STATIC_FUNCTIONS = {"shape", "ndim", "typeof", "result_type"}


def passes_shape(call: ast.Call | None) -> bool:
    """Return whether a call passes on the shape, the dtype, or the like of an array."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr in _STATIC_ATTRIBUTES)
        or (isinstance(node, ast.Call) and _function_name(node) in _STATIC_FUNCTIONS)
        for node in _nodes_of_arguments(call)
    )


def shapes_of_described(call: ast.Call | None, caller: types.FrameType) -> set[str]:
    """Return the shapes of the traced arrays that a call describes with another function.

    For example, `print(describe(x))` describes `x`. What `describe` returns is the same on every
    call if it shows the shape of `x`, but no traced value.

    Args:
        call: The call, or None if its source is unavailable.
        caller: The frame that makes the call.
    """
    names = {
        argument.id
        for node in _nodes_of_arguments(call)
        if isinstance(node, ast.Call)
        for argument in node.args
        if isinstance(argument, ast.Name)
    }
    values = [caller.f_locals.get(name) for name in names] if names else []
    return {str(value.shape) for value in values if isinstance(value, Tracer)}


def logs_shape(call: ast.Call | None, frame: types.FrameType, caller: types.FrameType) -> bool:
    """Return whether a logging call shows the shape of an array, but no traced value.

    Args:
        call: The call, or None if its source is unavailable.
        frame: The frame that runs the logging function.
        caller: The frame that makes the call.
    """
    message, arguments = frame.f_locals.get("msg"), frame.f_locals.get("args", ())
    if not isinstance(message, str) or shows_tracer(frame):
        return False
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(arguments)):
        return False
    texts = [message, *(a for a in arguments if isinstance(a, str))]
    described = shapes_of_described(call, caller)
    return passes_shape(call) or any(shape in text for shape in described for text in texts)


def is_constant(call: ast.Call | None) -> bool:
    """Return whether all arguments of a call are literals, such as the text of a heading."""
    arguments = [*call.args, *(k.value for k in call.keywords)] if call is not None else []
    return bool(arguments) and all(isinstance(a, ast.Constant) for a in arguments)


def _nodes_of_arguments(call: ast.Call | None) -> Iterator[ast.AST]:
    arguments = [*call.args, *(k.value for k in call.keywords)] if call is not None else []
    for argument in arguments:
        yield from ast.walk(argument)


def _function_name(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]
