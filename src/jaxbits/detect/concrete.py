"""Python that needs the number behind a traced value: for a choice, or for a shape."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import jax

from jaxbits import catalogue
from jaxbits.detect.detector import detector
from jaxbits.detect.finding import Finding, Place, is_users, place_of_error
from jaxbits.detect.iterators import is_iterator
from jaxbits.detect.subject import Subject, is_array

_CONVERSIONS = {
    "__index__", "__bool__", "__int__", "__float__", "__complex__", "__array__", "error", "_error",
    "reraise_with_filtered_traceback", "op", "meth", "concrete_or_error", "deferring_binary_op",
}  # fmt: skip
_FIX = "`jnp.where`, `lax.cond` or `lax.while_loop`"
_READS = {"item", "tolist"}  # `transfer` tells of these
_SHAPES = ("Shapes must be 1D sequences of concrete", "static start", "must be static")


@detector
def control_flow(subject: Subject) -> Iterator[Finding]:
    """Find Python's own choices and loops on traced values, and arguments that are not arrays.

    It traces the function as `jax.jit` would, all numbers traced, and reads the error: its line,
    and the argument that it depends on. It sees the first of several. `jax.jit` itself, or
    `jax.eval_shape`, raises the same error; a function that is never jitted does not need it.

    >>> from jaxbits import detect
    >>> found = detect.control_flow(lambda x: x if x > 0 else -x, 2.0)[0]
    >>> found.message, found.evidence
    ('Python needs the number behind a traced value', 'TracerBoolConversionError, from argument x')
    >>> detect.control_flow(lambda x: abs(x), 2.0)
    []
    """
    for error in subject.errors:
        kind, place = _classified(error)
        if kind == "control_flow":
            argument = subject.argument(error)
            logic = place is not None and _is_logic(place.text)
            yield Finding(
                "control_flow",
                "error",
                "Python needs the number behind a traced value",
                type(error).__name__ + (f", from argument {argument}" if argument else ""),
                ("`&`, `|` and `~`, with brackets" if logic else _FIX)
                + (f"; or `static_argnames={argument!r}`" if argument.isidentifier() else ""),
                place,
                "python-logic-on-tracer" if logic else catalogue.nearest("control_flow", error),
            )
    if subject.is_jitted:
        return
    leaves = jax.tree.leaves((subject.args, subject.kwargs), is_leaf=is_iterator)
    # `jax.jit` takes a Ref, too.
    taken = [is_array(x) or is_iterator(x) or isinstance(x, jax.Ref) for x in leaves]
    strange = [leaf for leaf, fine in zip(leaves, taken, strict=True) if not fine]
    if strange:
        yield Finding(
            "control_flow",
            "error",
            "an argument is not an array: `jax.jit` refuses it",
            f"{len(strange)} of {len(leaves)} leaves, the first a {type(strange[0]).__name__}",
            "`static_argnames=`, or bind it with `functools.partial`",
            bit="argument-not-an-array",
        )


@detector
def dynamic_shape(subject: Subject) -> Iterator[Finding]:
    """Find shapes that depend on the numbers in an array, not on its shape.

    It traces the function as `jax.jit` would, all numbers traced, and reads the error. It sees the
    first of several. `jax.jit` itself, or `jax.eval_shape`, raises the same error.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> found = detect.dynamic_shape(lambda x: x[x > 1], jnp.arange(4.0))[0]
    >>> found.message, found.evidence
    ('a shape depends on the numbers in an array', 'NonConcreteBooleanIndexError')
    >>> detect.dynamic_shape(lambda x: jnp.where(x > 1, x, 0), jnp.arange(4.0))
    []
    """
    for error in subject.errors:
        kind, place = _classified(error)
        if kind == "dynamic_shape":
            yield Finding(
                "dynamic_shape",
                "error",
                "a shape depends on the numbers in an array",
                type(error).__name__,
                "`jnp.where(mask, x, fill)`, `size=`, `lax.dynamic_slice`; or a static argument",
                place,
                catalogue.nearest("dynamic_shape", error),
            )


def _classified(error: Exception) -> tuple[str, Place | None]:
    """Return which check an error of tracing belongs to, empty for none, and its line."""
    name, message, place = type(error).__name__, str(error), place_of_error(error.__traceback__)
    inside = _library_calls(error)
    if name in ("TracerBoolConversionError", "TracerIntegerConversionError"):
        return ("dynamic_shape" if inside else "control_flow"), place
    if name == "NonConcreteBooleanIndexError":
        return "dynamic_shape", place
    if name == "ConcretizationTypeError":
        if any(f"{read}() method" in message for read in _READS):
            return "", place
        return ("dynamic_shape" if inside else "control_flow"), place
    if isinstance(error, (TypeError, IndexError)) and any(text in message for text in _SHAPES):
        return "dynamic_shape", place
    needed = ("unhashable", "__format__")
    if isinstance(error, TypeError) and "Tracer" in message and any(n in message for n in needed):
        return "control_flow", place
    return "", place


def _is_logic(line: str) -> bool:
    """Whether a line is no `if` or `while`, but joins truths by `and`, `or`, `not` or a chain."""
    try:
        (statement,) = ast.parse(line.strip()).body
    except (SyntaxError, ValueError):
        return False
    nodes = list(ast.walk(statement))
    if any(isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)) for node in nodes):
        return False
    return any(
        isinstance(node, (ast.BoolOp, ast.Not))
        or (isinstance(node, ast.Compare) and len(node.ops) > 1)
        for node in nodes
    )


def _library_calls(error: Exception) -> list[str]:
    """Return the library's functions below the user's last line that are no mere conversions."""
    below: list[str] = []
    traceback: Any = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_users(code.co_filename):
            below = []
        elif code.co_name not in _CONVERSIONS and not code.co_name.startswith("check_"):
            below.append(code.co_name)
        traceback = traceback.tb_next
    return below
