"""The detector `control_flow`: Python code, such as an `if`, that needs the value of a tracer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import jax

from jaxbits import _catalogue
from jaxbits._analysis.copying import is_array
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.program_values import leaves_in_modules
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.static_numbers import ONLY_IF_JITTED
from jaxbits._analysis.tracing_errors import (
    blamed_argument,
    classify_error,
    error_signature,
    parameter_names,
)

_FIX = "`jnp.where`, `lax.cond`, or `lax.while_loop`"
_CONVERSION_FIX = "keep it an array: leave out the conversion, or convert it outside the function"
_CONVERSIONS = frozenset({"float", "int", "complex", "item", "tolist"})


@detector(reads=["log"])
def control_flow(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find Python branches and loops on traced values, and arguments that are not arrays.

    The detector traces the function as `jax.jit` would, with all numbers traced. It reports the
    line that raises an error and the argument that the value depends on. A function that is never
    jitted does not need this check. The detector cannot see more than the first line that raises an
    error. `jax.jit` itself and `jax.eval_shape` come closest, because they raise the same error.

    >>> from jaxbits import detect
    >>> found = detect.control_flow(lambda x: x if x > 0 else -x, 2.0)[0]
    >>> print(found.message)
    Python needs the concrete value of a traced array
    >>> detect.control_flow(lambda x: abs(x), 2.0)
    []
    """
    for error in target.errors:
        check, location = classify_error(error)
        if check == "control_flow":
            is_strict = error is target.trace.strict_error
            traced = target.trace.strictly_traced if is_strict else target.trace.traced
            argument = blamed_argument(error, target.function, target.args, target.kwargs, traced)
            is_logic = location is not None and _is_logic(location.text)
            fix = "`&`, `|`, and `~`, with parentheses" if is_logic else _FIX
            if location is not None and _is_conversion(location.text):
                fix = _CONVERSION_FIX
            if _can_be_static(target, argument):
                fix += f"; or `static_argnames={argument!r}`"
            severity = target.severity_of(error)
            yield Finding(
                severity,
                "Python needs the concrete value of a traced array",
                type(error).__name__ + (f", from argument {argument}" if argument else ""),
                ONLY_IF_JITTED if severity == "note" else fix,
                location,
                "python-logic-on-tracer"
                if is_logic
                else _catalogue.best_match("control_flow", error),
                explains=error_signature(error),
            )
    if target.is_jitted:
        return
    leaves = jax.tree.leaves((target.args, target.kwargs), is_leaf=is_iterator)
    # `jax.jit` accepts a Ref, too. The check `iterator` reports iterators.
    accepted = (is_array, is_iterator, lambda leaf: isinstance(leaf, jax.Ref))
    # Whoever passes a module with such leaves uses a transformation that accepts them.
    modules = leaves_in_modules((target.args, target.kwargs))
    rejected = [
        leaf
        for index, leaf in enumerate(leaves)
        if index not in modules and not any(accepts(leaf) for accepts in accepted)
    ]
    if rejected:
        yield Finding(
            "note" if target.may_be_driver or all(map(callable, rejected)) else "error",
            "an argument is not an array: `jax.jit` rejects it",
            f"{len(rejected)} of {len(leaves)} leaves, the first a {type(rejected[0]).__name__}",
            "`static_argnames=`, or bind it with `functools.partial`",
            catalogue_id="argument-not-an-array",
        )


def _can_be_static(target: FunctionUnderTest, argument: str) -> bool:
    """Return whether `jax.jit` accepts an argument as static, which it does if it is hashable."""
    names = parameter_names(target.function)[: len(target.args)]
    arguments = {**dict(zip(names, target.args, strict=False)), **target.kwargs}
    try:
        hash(arguments.get(argument))
    except TypeError:
        return False
    return argument.isidentifier()


def _is_conversion(line: str) -> bool:
    """Return whether a line converts to a Python number, and does not branch or loop.

    >>> _is_conversion("norm = float(x.sum())"), _is_conversion("if float(x) > 0:")
    (True, False)
    """
    nodes = _nodes_of_line(line)
    branches = (ast.If, ast.While, ast.IfExp, ast.Assert, ast.BoolOp, ast.Not, ast.Compare)
    if any(isinstance(node, branches) for node in nodes):
        return False
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = {getattr(f, "id", getattr(f, "attr", "")) for f in called}
    return bool(names & _CONVERSIONS)


def _nodes_of_line(line: str) -> list[ast.AST]:
    """Return the nodes of a line's syntax tree, or an empty list if it is no whole statement."""
    try:
        (statement,) = ast.parse(line.strip()).body
    except (SyntaxError, ValueError):
        return []
    return list(ast.walk(statement))


def _is_logic(line: str) -> bool:
    """Return whether a line combines truth values or chains comparisons without branching on them.

    A line with an `if`, a `while`, or an `assert` does not count.
    """
    nodes = _nodes_of_line(line)
    if any(isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)) for node in nodes):
        return False
    return any(
        isinstance(node, (ast.BoolOp, ast.Not))
        or (isinstance(node, ast.Compare) and len(node.ops) > 1)
        for node in nodes
    )
