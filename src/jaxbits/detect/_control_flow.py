"""The detector `control_flow`: Python that needs the value of a tracer, as in an `if`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import jax

from jaxbits import _catalogue
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject, is_array
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.tracing_errors import classify_error
from jaxbits._finding import Finding

_FIX = "`jnp.where`, `lax.cond` or `lax.while_loop`"


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
        kind, place = classify_error(error)
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
                "python-logic-on-tracer" if logic else _catalogue.best_match("control_flow", error),
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
